/**
 * Migrates the schema. All missing migrations run in one transaction. Never change a released migration: add another.
 *
 * A migration that only adds tables, indexes, or columns with a default is additive: servers of earlier releases work
 * with its schema. The database records this for each migration, so that such a server knows. Before a migration that
 * is not additive, all servers of earlier releases must be stopped.
 */
import type { Knex } from 'knex';
import { ConfigError } from '../config/config.ts';
import { type EngineOptions, SILENT } from './engine.ts';

export interface Migration {
  /** Unique: the database records it. */
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
  readonly isAdditive: boolean;
}

const TABLE = 'schema_migrations';
/** How long a migration waits for another process, and when it reports that. */
const MAX_WAIT_MS = 60_000;
const REPORT_MS = 1_000;

export interface MigrateOptions extends EngineOptions {
  /** All migrations of this release, in the order in which they run. */
  readonly migrations: readonly Migration[];
  /** Prevents other processes from migrating until the transaction ends. */
  readonly lock: (trx: Knex.Transaction, maxWaitMs: number) => Promise<void>;
  readonly transaction?: Knex.TransactionConfig;
}

/** Runs what is missing. @throws ConfigError when this release does not support the schema, or may not migrate it. */
export async function migrate(knex: Knex, options: MigrateOptions): Promise<void> {
  const { migrations, migrates = true, logger = SILENT, onMigration } = options;
  const { lock, maxWaitMs = MAX_WAIT_MS, transaction = {} } = options;
  const missing = namesOf(await findMissing(knex, migrations));
  if (missing.length === 0) return;
  if (!migrates) {
    const hint = 'run "npm run migrate", or start with MIGRATE_AT_START=yes';
    throw new ConfigError(`the database lacks the migrations ${missing.join(', ')}: ${hint}`);
  }
  const wait = { maxSeconds: maxWaitMs / 1_000 };
  const report = () => logger.info(wait, 'another process is changing the database: waiting for it to be done');
  const migrateIn = async (trx: Knex.Transaction) => {
    const timer = setTimeout(report, REPORT_MS);
    await lock(trx, maxWaitMs).finally(() => clearTimeout(timer));
    await prepareTable(trx);
    const pending = await findMissing(trx, migrations); // another process may have migrated meanwhile
    if (pending.length > 0) logger.info({ migrations: namesOf(pending) }, 'migrating the database');
    for (const { name, up, isAdditive } of pending) {
      onMigration?.(name);
      await up(trx);
      await trx(TABLE).insert({ name, batch: 1, migration_time: new Date(), additive: isAdditive });
    }
    return namesOf(pending);
  };
  let failure: unknown;
  const noting = (error: unknown) => {
    failure = error;
    throw error;
  };
  const done = await knex
    .transaction((trx) => migrateIn(trx).catch(noting), transaction)
    .finally(() => onMigration?.(undefined))
    .catch((error: unknown) => {
      throw failure ?? error; // of a transaction that the database has ended, knex throws why it can't be rolled back
    });
  if (done.length > 0) logger.info({ migrations: done }, "the database's schema is up to date now");
}

async function findMissing(knex: Knex, migrations: readonly Migration[]): Promise<readonly Migration[]> {
  if (!(await knex.schema.hasTable(TABLE))) return migrations;
  const rows: readonly { name: string; additive: unknown }[] = await knex(TABLE).select();
  const known = new Set(namesOf(migrations));
  const unknown = rows.filter(({ name, additive }) => !known.has(name) && !additive).map(({ name }) => name);
  if (unknown.length > 0) {
    const what = `the database has the migrations ${unknown.join(', ')} of a newer release`;
    throw new ConfigError(
      `${what}, on which this one can't work: start the newer one, or restore the backup from before it`,
    );
  }
  const done = new Set(rows.map(({ name }) => name));
  return migrations.filter(({ name }) => !done.has(name));
}

async function prepareTable(trx: Knex.Transaction): Promise<void> {
  if (await trx.schema.hasTable(TABLE)) return;
  await trx.schema.createTable(TABLE, (table) => {
    table.increments('id');
    table.string('name');
    table.integer('batch');
    table.timestamp('migration_time');
    table.boolean('additive').notNullable().defaultTo(false);
  });
}

const namesOf = (migrations: readonly Migration[]): readonly string[] => migrations.map(({ name }) => name);
