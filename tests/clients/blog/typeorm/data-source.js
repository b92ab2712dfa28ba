import 'reflect-metadata';
import { DataSource } from 'typeorm';
import * as entities from './entities.js';

const { PGHOST: host, PGPORT: port, PGUSER: username, PGDATABASE: database } = process.env;
export const AppDataSource = new DataSource({
  type: 'postgres',
  host,
  port: port && Number(port),
  username,
  database,
  entities: Object.values(entities),
  migrations: ['migrations/*.js'],
});
