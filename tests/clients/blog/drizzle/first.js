import { eq } from 'drizzle-orm';
import { db, pool } from './db.js';
import { comments, posts, postsToTags, tags, users } from './schema.js';

const [ada, bob] = await db.insert(users).values([{ name: 'Ada' }, { name: 'Bob' }]).returning();
const [post] = await db.insert(posts).values({ title: 'Hello', authorId: ada.id }).returning();
await db.insert(comments).values({ body: 'First!', postId: post.id, authorId: bob.id });
const news = await db.insert(tags).values([{ name: 'news' }, { name: 'sql' }]).returning();
await db.insert(postsToTags).values(news.map((tag) => ({ postId: post.id, tagId: tag.id })));

for (const [name, table] of Object.entries({ users, posts, comments, tags })) {
  for (const { id } of await db.select().from(table)) {
    console.log(name, String(id));
  }
}

// By joins, because relational queries pass through JSON, and a key that is nested in their results
// is a number.
const tagged = await db.select({ name: tags.name }).from(postsToTags)
  .innerJoin(tags, eq(postsToTags.tagId, tags.id))
  .where(eq(postsToTags.postId, post.id)).orderBy(tags.name);
const [comment] = await db.select({ body: comments.body, author: users.name }).from(comments)
  .innerJoin(users, eq(comments.authorId, users.id)).where(eq(comments.postId, post.id));
const topics = tagged.map(({ name }) => name).join(' and ');
console.log(`${post.title} of ${ada.name} is about ${topics}.`,
  `${comment.author}: ${comment.body}`);
await pool.end();
