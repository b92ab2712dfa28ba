import 'reflect-metadata';
import { DataSource, EntitySchema } from 'typeorm';

const id = { type: 'bigint', primary: true, generated: true };
const relation = { type: 'one-to-many', target: 'cups', inverseSide: 'order' };
const orders = new EntitySchema({ name: 'orders', columns: { id }, relations: { cups: relation } });
const cups = new EntitySchema({
  name: 'cups',
  columns: { id, order_id: { type: 'bigint' } },
  relations: {
    order: { type: 'many-to-one', target: 'orders', joinColumn: { name: 'order_id' } },
  },
});

export async function read() {
  const url = process.env.DATABASE_URL;
  const source = new DataSource({ type: 'postgres', url, entities: [orders, cups] });
  await source.initialize();
  const [order] = await source.getRepository('orders').find({ relations: { cups: true }, take: 1 });
  await source.destroy();
  return order;
}
