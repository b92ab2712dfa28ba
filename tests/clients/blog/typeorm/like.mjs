import { AppDataSource } from './data-source.js';

await AppDataSource.initialize();
const [users, posts, likes] = ['user', 'post', 'like']
  .map((name) => AppDataSource.getRepository(name));

const post = await posts.findOneBy({ title: 'Tea' });
const bob = await users.findOneBy({ name: 'Bob' });
await likes.save({ post, user: bob });
await posts.save({ ...post, subtitle: 'A start', editor: bob });

for (const { id } of await likes.find()) console.log('likes', String(id));
const found = await posts.findOne({ where: { id: post.id }, relations: { editor: true } });
console.log(`${found.title}: ${found.subtitle}, edited by ${found.editor.name}`);
await AppDataSource.destroy();
