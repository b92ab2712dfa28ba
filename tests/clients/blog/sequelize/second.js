'use strict';

const { sequelize, User, Post, Like } = require('./models');

async function main() {
  const post = await Post.findOne({ where: { title: 'Hello' } });
  const bob = await User.findOne({ where: { name: 'Bob' } });
  await Like.create({ postId: post.id, userId: bob.id });
  await post.update({ subtitle: 'World', editorId: bob.id });

  for (const { id } of await Like.findAll()) {
    console.log('likes', String(id));
  }
  const found = await Post.findByPk(post.id, { include: 'editor' });
  console.log(`${found.title}, ${found.subtitle}! Edited by ${found.editor.name}`);
  await sequelize.close();
}

main();
