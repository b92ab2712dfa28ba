// The script and a table by node-postgres, or by PGlite, which is a server within node.
import { readFile, writeFile } from 'node:fs/promises';

const inProcess = process.argv[2] === 'pglite';
const { default: pg } = inProcess ? { default: null } : await import('pg');
const client = inProcess
  ? await (await import('@electric-sql/pglite')).PGlite.create()
  : new pg.Client();
if (!inProcess) await client.connect();
await client.query(await readFile('snowflake.sql', 'utf8'));
await client.query(await readFile('orders.sql', 'utf8'));
for (const item of ['tea', 'milk', 'sugar']) {
  const insert = 'INSERT INTO orders (item) VALUES ($1) RETURNING item, id::text';
  const { rows: [row] } = await client.query(insert, [item]);
  console.log(row.item, row.id);
}
if (inProcess) {
  // IDs of a busy session, and the script once more.
  const take = 'SELECT snowflake_nextval()::text AS id FROM generate_series(1, 20000)';
  const ids = (await client.query(take)).rows.map(({ id }) => BigInt(id));
  for (let i = 0; i < 20; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    ids.push(BigInt((await client.query('SELECT snowflake_nextval()::text AS id')).rows[0].id));
  }
  if (!ids.every((id, index) => index === 0 || id > ids[index - 1])) throw new Error('not ascending');
  await client.exec(await readFile('snowflake.sql', 'utf8'));
  console.log(ids.length, 'ascending');
  const { pgDump } = await import('@electric-sql/pglite-tools/pg_dump');
  const dump = await pgDump({ pg: client, args: ['--data-only', '--table=orders'] });
  await writeFile('dump.sql', await dump.text());
}
await (inProcess ? client.close() : client.end());
