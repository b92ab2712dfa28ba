import { AppDataSource } from './data-source.js';

await AppDataSource.initialize();
const [users, posts, comments, tags] = ['user', 'post', 'comment', 'tag']
  .map((name) => AppDataSource.getRepository(name));

const [ada, bob] = await users.save([{ name: 'Ada' }, { name: 'Bob' }]);
const post = await posts.save({
  title: 'Hello', author: ada, tags: await tags.save([{ name: 'news' }, { name: 'sql' }]),
});
await comments.save({ body: 'First!', post, author: bob });

for (const repository of [users, posts, comments, tags]) {
  for (const { id } of await repository.find()) {
    console.log(repository.metadata.tableName, String(id));
  }
}

const found = await posts.findOne({
  where: { id: post.id }, relations: { author: true, comments: { author: true }, tags: true },
  order: { tags: { name: 'ASC' } },
});
console.log(`${found.title} of ${found.author.name}`,
  `is about ${found.tags.map(({ name }) => name).join(' and ')}.`,
  ...found.comments.map(({ body, author }) => `${author.name}: ${body}`));
await AppDataSource.destroy();
