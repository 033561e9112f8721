/** The schema's history, run with knex in one go at start. A released migration is never changed: add another. */
import type { Knex } from 'knex';
import * as catalogue from './migrations/001-catalogue.ts';
import * as accounts from './migrations/002-accounts.ts';
import * as usage from './migrations/003-usage.ts';

const MIGRATIONS: readonly [name: string, migration: Knex.Migration][] = [
  ['001-catalogue', catalogue],
  ['002-accounts', accounts],
  ['003-usage', usage],
];

const source: Knex.MigrationSource<(typeof MIGRATIONS)[number]> = {
  getMigrations: async () => [...MIGRATIONS],
  getMigrationName: ([name]) => name,
  getMigration: async ([, migration]) => migration,
};

const CONFIG: Knex.MigratorConfig = { migrationSource: source, tableName: 'schema_migrations' };

export async function migrate(knex: Knex): Promise<void> {
  await knex.migrate.latest(CONFIG);
}

/** For a caller who knows that no other process migrates: frees knex's lock, which a process that was killed leaves. */
export async function migrateAlone(knex: Knex): Promise<void> {
  if (await knex.schema.hasTable('schema_migrations_lock')) await knex.migrate.forceFreeMigrationsLock(CONFIG);
  await migrate(knex);
}
