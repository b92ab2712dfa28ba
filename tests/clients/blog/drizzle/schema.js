import { relations } from 'drizzle-orm';
import { bigint, bigserial, pgTable, primaryKey, text, varchar } from 'drizzle-orm/pg-core';

export const users = pgTable('users', {
  id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
  name: varchar({ length: 255 }).notNull(),
});

export const posts = pgTable('posts', {
  id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
  title: varchar({ length: 255 }).notNull(),
  subtitle: varchar({ length: 255 }), // second
  authorId: bigint('author_id', { mode: 'bigint' }).notNull().references(() => users.id),
  editorId: bigint('editor_id', { mode: 'bigint' }).references(() => users.id), // second
});

export const comments = pgTable('comments', {
  id: bigserial({ mode: 'bigint' }).primaryKey(),
  body: text().notNull(),
  postId: bigint('post_id', { mode: 'bigint' }).notNull().references(() => posts.id, { onDelete: 'cascade' }),
  authorId: bigint('author_id', { mode: 'bigint' }).references(() => users.id),
});

export const tags = pgTable('tags', {
  id: bigserial({ mode: 'bigint' }).primaryKey(),
  name: varchar({ length: 255 }).notNull().unique(),
});

export const postsToTags = pgTable('posts_to_tags', {
  postId: bigint('post_id', { mode: 'bigint' }).notNull().references(() => posts.id),
  tagId: bigint('tag_id', { mode: 'bigint' }).notNull().references(() => tags.id),
}, (t) => [primaryKey({ columns: [t.postId, t.tagId] })]);

export const usersRelations = relations(users, ({ many }) => ({ posts: many(posts) }));
export const postsRelations = relations(posts, ({ one, many }) => ({
  author: one(users, { fields: [posts.authorId], references: [users.id] }),
  comments: many(comments),
}));
export const commentsRelations = relations(comments, ({ one }) => ({
  post: one(posts, { fields: [comments.postId], references: [posts.id] }),
}));

// second
export const likes = pgTable('likes', {
  id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
  postId: bigint('post_id', { mode: 'bigint' }).notNull().references(() => posts.id),
  userId: bigint('user_id', { mode: 'bigint' }).notNull().references(() => users.id),
});
