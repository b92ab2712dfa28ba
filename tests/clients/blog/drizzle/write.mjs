import { eq } from 'drizzle-orm';
import { db, pool } from './db.js';
import { comments, posts, postsToTags, tags, users } from './schema.js';

const [ann, bob] = await db.insert(users).values([{ name: 'Ann' }, { name: 'Bob' }]).returning();
const [post] = await db.insert(posts).values({ title: 'Tea', authorId: ann.id }).returning();
await db.insert(comments).values({ body: 'How long?', postId: post.id, authorId: bob.id });
const both = await db.insert(tags).values([{ name: 'drinks' }, { name: 'kitchen' }]).returning();
await db.insert(postsToTags).values(both.map((tag) => ({ postId: post.id, tagId: tag.id })));

for (const [name, table] of Object.entries({ users, posts, comments, tags })) {
  for (const { id } of await db.select().from(table)) console.log(name, String(id));
}

// By joins, because relational queries pass through JSON, and a key that is nested in their results
// is a number.
const tagged = await db.select({ name: tags.name }).from(postsToTags)
  .innerJoin(tags, eq(postsToTags.tagId, tags.id))
  .where(eq(postsToTags.postId, post.id)).orderBy(tags.name);
tagged.forEach(({ name }) => console.log(`${post.title}: ${name}`));
const [comment] = await db.select({ body: comments.body, author: users.name }).from(comments)
  .innerJoin(users, eq(comments.authorId, users.id)).where(eq(comments.postId, post.id));
console.log(`${post.title}: ${comment.body} (${comment.author})`);
await pool.end();
