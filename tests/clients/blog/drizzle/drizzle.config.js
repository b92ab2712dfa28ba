import { defineConfig } from 'drizzle-kit';

const { PGHOST: host, PGUSER: user, PGDATABASE: database } = process.env;
export default defineConfig({
  dialect: 'postgresql',
  schema: './schema.js',
  out: './drizzle',
  // These views belong to the extension. This matters for `drizzle-kit push`.
  tablesFilter: ['!*snowflake*'],
  dbCredentials: { host, user, database, ssl: false },
});
