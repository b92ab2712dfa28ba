import { relations } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { bigint, pgTable, text } from 'drizzle-orm/pg-core';

const orders = pgTable('orders', { id: bigint({ mode: 'bigint' }).primaryKey(), item: text() });
const cups = pgTable('cups', {
  id: bigint({ mode: 'bigint' }).primaryKey(),
  order_id: bigint({ mode: 'bigint' }).references(() => orders.id),
});
const schema = {
  orders,
  cups,
  toCups: relations(orders, ({ many }) => ({ cups: many(cups) })),
  toOrder: relations(cups, ({ one }) => ({
    order: one(orders, { fields: [cups.order_id], references: [orders.id] }),
  })),
};

export async function read(pool) {
  const db = drizzle(pool, { schema });
  const cup = await db.query.cups.findFirst({ with: { order: true } });
  return db.query.orders.findFirst({ where: (o, { eq }) => eq(o.id, cup.order_id), with: { cups: true } });
}
