import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import * as schema from './schema.js';

// The connection is that of the environment: PGHOST and others, or what is set here.
export const pool = new pg.Pool();
export const db = drizzle({ client: pool, schema });
