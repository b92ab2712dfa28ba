import 'reflect-metadata';
import { DataSource } from 'typeorm';
import * as entities from './entities.js';

const { PGHOST: host, PGUSER: username, PGDATABASE: database } = process.env;
export const AppDataSource = new DataSource({
  type: 'postgres',
  host,
  username,
  database,
  entities: Object.values(entities),
  migrations: ['migrations/*.js'],
});
