const { sequelize, User, Post, Tag, Comment } = require('./models');

const show = async (...models) => {
  for (const model of models) {
    for (const { id } of await model.findAll()) console.log(model.getTableName(), String(id));
  }
};

const write = async () => {
  const [ann] = await User.bulkCreate([{ name: 'Ann' }, { name: 'Bob' }]);
  const { id } = await ann.createPost({ title: 'Tea' });
  const tags = await Tag.bulkCreate(['drinks', 'kitchen', 'garden'].map((name) => ({ name })));
  await (await Post.findByPk(id)).addTags(tags.slice(0, 2));
  await show(User, Post, Tag);
  const post = await Post.findByPk(id, { include: ['author', Tag], order: [[Tag, 'name', 'ASC']] });
  console.log(`${post.title} by ${post.author.name}: ${post.tags.map(({ name }) => name).join(', ')}`);
};

const comment = async () => {
  const post = await Post.findOne({ include: { association: 'author', where: { name: 'Ann' } } });
  const bob = await User.findOne({ where: { name: 'Bob' } });
  const { id } = await Comment.create({ body: 'How long?', postId: post.id, authorId: bob.id });
  await post.update({ editorId: bob.id });
  await show(Comment);
  const read = await Comment.findByPk(id, { include: { model: Post, include: 'editor' } });
  console.log(`${read.post.title}, edited by ${read.post.editor.name}: ${read.body}`);
};

({ write, comment })[process.argv[2]]().finally(() => sequelize.close());
