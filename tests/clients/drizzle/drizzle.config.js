import { defineConfig } from 'drizzle-kit';

const { PGHOST: host, PGUSER: user, PGDATABASE: database } = process.env;
export default defineConfig({
  dialect: 'postgresql',
  schema: './schema.js',
  // The views of the extension are none of the program's.
  tablesFilter: ['!*snowflake*'],
  dbCredentials: { host, user, database, ssl: false },
});
