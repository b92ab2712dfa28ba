<?php

require 'connect.php';
require 'Order.php';

use Doctrine\ORM\Tools\SchemaTool;

$table = (new SchemaTool($manager))->getCreateSchemaSql([$manager->getClassMetadata(Order::class)]);
foreach ($table as $statement) {
    $connection->executeStatement($statement);
}
foreach (['tea', 'milk', 'sugar'] as $item) {
    $order = new Order();
    $order->item = $item;
    $manager->persist($order);
    $manager->flush();
    echo "$order->item $order->id\n";
}
