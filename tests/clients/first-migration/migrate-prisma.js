// The files that are named, each as a migration, by the engine of Prisma's migrations that npm has, in JavaScript.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import * as engine from '@prisma/schema-engine-wasm/schema_engine_bg';

const directory = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm');
const bytes = await readFile(directory.replace('schema_engine.js', 'schema_engine_bg.wasm'));
const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': engine });
engine.__wbg_set_wasm(instance.exports);
instance.exports.__wbindgen_start();

const schema = ['schema.prisma', 'datasource db { provider = "postgresql" }'];
const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg({}));
const migrations = await engine.SchemaEngine.new({ datamodels: [schema] }, () => {}, adapter);
const migration = async (file) => ({
  path: file,
  migrationFile: { path: file, content: { tag: 'ok', value: await readFile(file, 'utf8') } },
});
const { appliedMigrationNames } = await migrations.applyMigrations({
  migrationsList: {
    baseDir: '.', lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"' },
    shadowDbInitScript: '', migrationDirectories: await Promise.all(process.argv.slice(2).map(migration)),
  },
  filters: { externalTables: [], externalEnums: [] },
});
console.log(...appliedMigrationNames);
process.exit();
