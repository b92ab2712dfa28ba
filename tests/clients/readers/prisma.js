import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '@prisma/client';

export async function read() {
  const adapter = new PrismaPg({});
  const prisma = new PrismaClient({ adapter });
  const order = await prisma.order.findFirst({ include: { cups: true } });
  await prisma.$disconnect();
  return { id: order.id, cups: order.cups.map((cup) => ({ id: cup.id, order_id: cup.orderId })) };
}
