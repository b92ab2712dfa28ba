import { relations } from 'drizzle-orm';
import { bigint, bigserial, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';

const reference = (name, to) => bigint(name, { mode: 'bigint' }).references(() => to().id);

export const users = pgTable('users', {
  id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
  name: text().notNull(),
});

export const posts = pgTable('posts', {
  id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
  title: text().notNull(),
  authorId: reference('author_id', () => users).notNull(),
  editorId: reference('editor_id', () => users), // second
});

export const tags = pgTable('tags', {
  id: bigserial({ mode: 'bigint' }).primaryKey(),
  name: text().notNull().unique(),
});

export const postsTags = pgTable('posts_tags', {
  postId: reference('post_id', () => posts).notNull(),
  tagId: reference('tag_id', () => tags).notNull(),
}, (t) => [primaryKey({ columns: [t.postId, t.tagId] })]);

export const postsRelations = relations(posts, ({ one }) => ({
  author: one(users, { fields: [posts.authorId], references: [users.id] }),
}));

// second
export const comments = pgTable('comments', {
  id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
  body: text().notNull(),
  postId: reference('post_id', () => posts).notNull(),
  authorId: reference('author_id', () => users).notNull(),
});
