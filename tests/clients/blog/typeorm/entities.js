import { EntitySchema } from 'typeorm';

export const UserEntity = new EntitySchema({
  name: 'user',
  tableName: 'users',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
    name: { type: String },
  },
  relations: {
    posts: { type: 'one-to-many', target: 'post', inverseSide: 'author' },
  },
});

export const PostEntity = new EntitySchema({
  name: 'post',
  tableName: 'posts',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
    title: { type: String },
    subtitle: { type: String, nullable: true }, // second
  },
  relations: {
    author: {
      type: 'many-to-one', target: 'user', inverseSide: 'posts', nullable: false,
      joinColumn: { name: 'author_id' },
    },
    editor: { type: 'many-to-one', target: 'user', joinColumn: { name: 'editor_id' } }, // second
    comments: { type: 'one-to-many', target: 'comment', inverseSide: 'post' },
    tags: { type: 'many-to-many', target: 'tag', joinTable: true },
  },
});

export const CommentEntity = new EntitySchema({
  name: 'comment',
  tableName: 'comments',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
    body: { type: String },
  },
  relations: {
    post: {
      type: 'many-to-one', target: 'post', inverseSide: 'comments', nullable: false,
      joinColumn: { name: 'post_id' },
    },
    author: { type: 'many-to-one', target: 'user', joinColumn: { name: 'author_id' } },
  },
});

export const TagEntity = new EntitySchema({
  name: 'tag',
  tableName: 'tags',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
    name: { type: String, unique: true },
  },
});

// second
export const LikeEntity = new EntitySchema({
  name: 'like',
  tableName: 'likes',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
  },
  relations: {
    post: { type: 'many-to-one', target: 'post', nullable: false, joinColumn: { name: 'post_id' } },
    user: { type: 'many-to-one', target: 'user', nullable: false, joinColumn: { name: 'user_id' } },
  },
});
