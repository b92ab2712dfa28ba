import models from './models/index.js';

const { sequelize, User, Post, Like } = models;
const post = await Post.findOne({ where: { title: 'Tea' } });
const bob = await User.findOne({ where: { name: 'Bob' } });
await Like.create({ postId: post.id, userId: bob.id });
await post.update({ subtitle: 'A start', editorId: bob.id });

for (const { id } of await Like.findAll()) console.log('likes', String(id));
const found = await Post.findByPk(post.id, { include: 'editor' });
console.log(`${found.title}: ${found.subtitle}, edited by ${found.editor.name}`);
await sequelize.close();
