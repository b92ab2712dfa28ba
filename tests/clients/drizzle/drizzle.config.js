import { defineConfig } from 'drizzle-kit';

const { PGHOST: host, PGUSER: user, PGDATABASE: database } = process.env;
export default defineConfig({
  dialect: 'postgresql',
  schema: './schema.js',
  // These views belong to the extension.
  tablesFilter: ['!*snowflake*'],
  dbCredentials: { host, user, database, ssl: false },
});
