import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import * as schema from './schema.js';

// Keys are of type bigint. Of the strings that node-postgres returns, columns that are declared as
// integer() would make numbers, with other digits at the end.
pg.types.setTypeParser(pg.types.builtins.INT8, BigInt);

// The connection is that of the environment: PGHOST and others, or what is set here.
export const pool = new pg.Pool();
export const db = drizzle({ client: pool, schema });
