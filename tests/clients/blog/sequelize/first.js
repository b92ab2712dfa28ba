'use strict';

const { sequelize, User, Post, Comment, Tag } = require('./models');

async function main() {
  const [ada, bob] = await User.bulkCreate([{ name: 'Ada' }, { name: 'Bob' }]);
  const post = await ada.createPost({ title: 'Hello' });
  const tags = await Tag.bulkCreate([{ name: 'news' }, { name: 'sql' }]);
  await post.addTags(tags);
  await post.createComment({ body: 'First!', authorId: bob.id });

  for (const model of [User, Post, Comment, Tag]) {
    for (const { id } of await model.findAll()) {
      console.log(model.getTableName(), String(id));
    }
  }

  const found = await Post.findByPk(post.id, {
    include: ['author', Tag, { model: Comment, include: 'author' }], order: [[Tag, 'name', 'ASC']],
  });
  console.log(`${found.title} of ${found.author.name}`,
    `is about ${found.tags.map(({ name }) => name).join(' and ')}.`,
    ...found.comments.map(({ body, author }) => `${author.name}: ${body}`));
  await sequelize.close();
}

main();
