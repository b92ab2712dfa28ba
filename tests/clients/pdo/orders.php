<?php

// The connection is that of the environment: PGHOST and others, or what is set here.
$database = new PDO('pgsql:');
$insert = $database->prepare('INSERT INTO orders (item) VALUES (?) RETURNING id');
foreach (['tea', 'milk'] as $item) {
    $insert->execute([$item]);
    $id = $insert->fetchColumn();
    echo "$item $id\n";
}
echo gettype($id), "\n";

// Many rows with one statement.
$many = $database->query("INSERT INTO orders (item) VALUES ('sugar'), ('cake') RETURNING item, id");
foreach ($many as ['item' => $item, 'id' => $id]) {
    echo "$item $id\n";
}

// For a browser: the ID as a string.
echo json_encode(['id' => (string) $id]), "\n";
