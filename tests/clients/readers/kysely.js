import { Kysely, PostgresDialect } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';

export async function read(pool) {
  const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
  const cups = (query) => query.selectFrom('cups').select(['cups.id', 'cups.order_id'])
    .whereRef('cups.order_id', '=', 'orders.id');
  const order = db.selectFrom('orders').select((query) => ['id', jsonArrayFrom(cups(query)).as('cups')]);
  return order.executeTakeFirst();
}
