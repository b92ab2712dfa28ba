import pg from 'pg';

// The connection is that of the environment: PGHOST and others, or what is set here.
const client = new pg.Client();
await client.connect();
const insert = 'INSERT INTO orders (item) VALUES ($1) RETURNING id';

// An ID is a string, unless the program says otherwise. As a number, it is another one.
const { id } = (await client.query(insert, ['tea'])).rows[0];
console.log('tea', id);
console.log(typeof id, id, 'as a number:', Number(id));

// As a BigInt, it is right.
pg.types.setTypeParser(pg.types.builtins.INT8, BigInt);
for (const item of ['milk', 'sugar']) {
  const { id } = (await client.query(insert, [item])).rows[0];
  console.log(item, String(id));
}

// For a browser: the ID as a string, with its time and its parts.
const { rows } = await client.query('SELECT snowflake_json(id) AS parts FROM orders ORDER BY id');
console.log(JSON.stringify(rows[0].parts));
await client.end();
