import { eq } from 'drizzle-orm';
import { db, pool } from './db.js';
import { likes, posts, users } from './schema.js';

const [post] = await db.select().from(posts).where(eq(posts.title, 'Tea'));
const [bob] = await db.select().from(users).where(eq(users.name, 'Bob'));
await db.insert(likes).values({ postId: post.id, userId: bob.id });
await db.update(posts).set({ subtitle: 'A start', editorId: bob.id }).where(eq(posts.id, post.id));

for (const { id } of await db.select().from(likes)) console.log('likes', String(id));
const [edited] = await db.select({ subtitle: posts.subtitle, editor: users.name }).from(posts)
  .innerJoin(users, eq(posts.editorId, users.id)).where(eq(posts.id, post.id));
console.log(`${post.title}: ${edited.subtitle}, edited by ${edited.editor}`);
await pool.end();
