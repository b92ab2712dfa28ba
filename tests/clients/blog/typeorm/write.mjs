import { AppDataSource } from './data-source.js';

await AppDataSource.initialize();
const [users, posts, comments, tags] = ['user', 'post', 'comment', 'tag']
  .map((name) => AppDataSource.getRepository(name));

const [ann, bob] = await users.save([{ name: 'Ann' }, { name: 'Bob' }]);
const post = await posts.save({
  title: 'Tea', author: ann, tags: await tags.save([{ name: 'drinks' }, { name: 'kitchen' }]),
});
await comments.save({ body: 'How long?', post, author: bob });

for (const repository of [users, posts, comments, tags]) {
  for (const { id } of await repository.find()) console.log(repository.metadata.tableName, String(id));
}

const found = await posts.findOne({
  where: { id: post.id }, relations: { comments: { author: true }, tags: true },
  order: { tags: { name: 'ASC' } },
});
found.tags.forEach(({ name }) => console.log(`${found.title}: ${name}`));
found.comments.forEach(({ body, author }) => console.log(`${found.title}: ${body} (${author.name})`));
await AppDataSource.destroy();
