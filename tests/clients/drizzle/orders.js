import { desc } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { orders } from './schema.js';

// The connection is that of the environment: PGHOST and others, or what is set here.
const pool = new pg.Pool();
const db = drizzle({ client: pool });

const items = ['tea', 'milk', 'sugar'];
const inserted = await db.insert(orders).values(items.map((item) => ({ item }))).returning();
for (const { item, id } of inserted) {
  console.log(item, String(id));
}
const [newest] = await db.select().from(orders).orderBy(desc(orders.id)).limit(1);
console.log(typeof newest.id, newest);
await pool.end();
