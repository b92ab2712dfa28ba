import { EntitySchema } from 'typeorm';

const id = { type: 'bigint', primary: true, generated: 'increment' };
const reference = (target, name) =>
  ({ type: 'many-to-one', target, nullable: name === 'editor_id', joinColumn: { name } });

export const UserEntity = new EntitySchema({
  name: 'user', tableName: 'users', columns: { id, name: { type: String } },
});

export const PostEntity = new EntitySchema({
  name: 'post',
  tableName: 'posts',
  columns: { id, title: { type: String } },
  relations: {
    author: reference('user', 'author_id'),
    editor: reference('user', 'editor_id'), // second
    tags: { type: 'many-to-many', target: 'tag', joinTable: true },
  },
});

export const TagEntity = new EntitySchema({
  name: 'tag', tableName: 'tags', columns: { id, name: { type: String, unique: true } },
});

// second
export const CommentEntity = new EntitySchema({
  name: 'comment',
  tableName: 'comments',
  columns: { id, body: { type: String } },
  relations: { post: reference('post', 'post_id'), author: reference('user', 'author_id') },
});
