import { DataTypes, Sequelize } from 'sequelize';

export async function read() {
  const sequelize = new Sequelize('', '', '', {
    dialect: 'postgres', host: process.env.PGHOST, username: process.env.PGUSER,
    database: process.env.PGDATABASE, logging: false, define: { timestamps: false },
  });
  const id = { type: DataTypes.BIGINT, primaryKey: true };
  const orders = sequelize.define('orders', { id });
  const cups = sequelize.define('cups', { id });
  orders.hasMany(cups, { foreignKey: 'order_id' });
  const order = (await orders.findOne({ include: cups })).get({ plain: true });
  // A number, unlike the one of this type.
  const max = await cups.max('id');
  const last = await cups.max('id', { dataType: new DataTypes.STRING() });
  await sequelize.close();
  return { ...order, more: [max, last] };
}
