import { AppDataSource } from './data-source.js';

await AppDataSource.initialize();
const of = (name) => AppDataSource.getRepository(name);

const show = async (...names) => {
  for (const repository of names.map(of)) {
    for (const { id } of await repository.find()) console.log(repository.metadata.tableName, String(id));
  }
};

if (process.argv[2] === 'write') {
  const [author] = await of('user').save([{ name: 'Ann' }, { name: 'Bob' }]);
  const tags = await of('tag').save(['drinks', 'kitchen', 'garden'].map((name) => ({ name })));
  const { id } = await of('post').save({ title: 'Tea', author, tags: tags.slice(0, 2) });
  await show('user', 'post', 'tag');
  const post = await of('post').findOne({
    where: { id }, relations: { author: true, tags: true }, order: { tags: { name: 'ASC' } },
  });
  console.log(`${post.title} by ${post.author.name}: ${post.tags.map(({ name }) => name).join(', ')}`);
} else {
  const post = await of('post').findOneBy({ author: { name: 'Ann' } });
  const bob = await of('user').findOneBy({ name: 'Bob' });
  const { id } = await of('comment').save({ body: 'How long?', post, author: bob });
  await of('post').save({ ...post, editor: bob });
  await show('comment');
  const read = await of('comment').findOne({ where: { id }, relations: { post: { editor: true } } });
  console.log(`${read.post.title}, edited by ${read.post.editor.name}: ${read.body}`);
}
await AppDataSource.destroy();
