import * as db from 'zapatos/db';

export async function read(pool) {
  const cups = db.select('cups', { order_id: db.parent('id') });
  const order = await db.selectOne('orders', db.all, { lateral: { cups } }).run(pool);
  return { ...order, more: [order.item] };
}
