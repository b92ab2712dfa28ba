import { EntitySchema, MikroORM } from '@mikro-orm/postgresql';

const [defaultRaw] = process.argv.slice(2);
const Order = new EntitySchema({
  name: 'Order',
  tableName: 'orders',
  properties: {
    id: { type: 'bigint', primary: true, autoincrement: false, defaultRaw },
    item: { type: 'text' },
  },
});
const orm = await MikroORM.init({
  entities: [Order],
  host: process.env.PGHOST, user: process.env.PGUSER, dbName: process.env.PGDATABASE,
  // This schema and its tables come with the extension.
  schemaGenerator: { ignoreSchema: ['snowflake_internal'] },
});
await orm.schema.updateSchema();
console.log(JSON.stringify(await orm.schema.getUpdateSchemaSQL()));
if (defaultRaw) {
  const em = orm.em.fork();
  const order = em.create('Order', { item: 'tea' });
  await em.persistAndFlush(order);
  console.log(order.item, String(order.id));
}
await orm.close();
