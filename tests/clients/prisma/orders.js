import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '@prisma/client';

// The connection is that of the environment: PGHOST and others, or what is set here.
const prisma = new PrismaClient({ adapter: new PrismaPg({}) });

const order = await prisma.order.create({ data: { item: 'tea' } });
console.log(order.item, String(order.id));
console.log(typeof order.id, order);

// Many rows with one statement.
const data = ['milk', 'sugar'].map((item) => ({ item }));
for (const { item, id } of await prisma.order.createManyAndReturn({ data })) {
  console.log(item, String(id));
}

// The orders of the last hour, by the index of the key.
const [{ since }] = await prisma.$queryRaw`SELECT snowflake_min(now() - interval '1 hour') AS since`;
console.log(await prisma.order.count({ where: { id: { gte: since } } }), 'orders since an hour');
await prisma.$disconnect();
