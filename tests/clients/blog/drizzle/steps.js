import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import * as schema from './schema.js';

// The connection is that of the environment: PGHOST and others, or what is set here.
const pool = new pg.Pool();
const db = drizzle({ client: pool, schema });
const { users, posts, tags, postsTags, comments } = schema;

const show = async (tables) => {
  for (const [name, table] of Object.entries(tables)) {
    for (const { id } of await db.select().from(table)) console.log(name, String(id));
  }
};

// By joins, because relational queries pass through JSON, and a key that is nested in their results
// is a number.
if (process.argv[2] === 'write') {
  const [ann] = await db.insert(users).values([{ name: 'Ann' }, { name: 'Bob' }]).returning();
  const [post] = await db.insert(posts).values({ title: 'Tea', authorId: ann.id }).returning();
  const names = ['drinks', 'kitchen', 'garden'].map((name) => ({ name }));
  const all = await db.insert(tags).values(names).returning();
  const joined = all.slice(0, 2).map((tag) => ({ postId: post.id, tagId: tag.id }));
  await db.insert(postsTags).values(joined);
  await show({ users, posts, tags });
  const read = await db.select({ title: posts.title, author: users.name, tag: tags.name }).from(posts)
    .innerJoin(users, eq(posts.authorId, users.id))
    .innerJoin(postsTags, eq(postsTags.postId, posts.id))
    .innerJoin(tags, eq(postsTags.tagId, tags.id))
    .where(eq(posts.id, post.id)).orderBy(tags.name);
  console.log(`${read[0].title} by ${read[0].author}: ${read.map(({ tag }) => tag).join(', ')}`);
} else {
  const [post] = await db.select().from(posts);
  const [bob] = await db.select().from(users).where(eq(users.name, 'Bob'));
  await db.insert(comments).values({ body: 'How long?', postId: post.id, authorId: bob.id });
  await db.update(posts).set({ editorId: bob.id }).where(eq(posts.id, post.id));
  await show({ comments });
  const [read] = await db.select({ title: posts.title, editor: users.name, body: comments.body })
    .from(posts).innerJoin(users, eq(posts.editorId, users.id))
    .innerJoin(comments, eq(comments.postId, posts.id));
  console.log(`${read.title}, edited by ${read.editor}: ${read.body}`);
}
await pool.end();
