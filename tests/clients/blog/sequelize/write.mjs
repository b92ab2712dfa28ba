import models from './models/index.js';

const { sequelize, User, Post, Comment, Tag } = models;
const [ann, bob] = await User.bulkCreate([{ name: 'Ann' }, { name: 'Bob' }]);
const post = await ann.createPost({ title: 'Tea' });
await post.addTags(await Tag.bulkCreate([{ name: 'drinks' }, { name: 'kitchen' }]));
await post.createComment({ body: 'How long?', authorId: bob.id });

for (const model of [User, Post, Comment, Tag]) {
  for (const { id } of await model.findAll()) console.log(model.getTableName(), String(id));
}

const { title, tags, comments } = await Post.findByPk(post.id, {
  include: [Tag, { model: Comment, include: 'author' }], order: [[Tag, 'name', 'ASC']],
});
tags.forEach(({ name }) => console.log(`${title}: ${name}`));
comments.forEach(({ body, author }) => console.log(`${title}: ${body} (${author.name})`));
await sequelize.close();
