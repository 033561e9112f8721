/**
 * The schema's history. All that a database lacks is done in one transaction: it happens whole, or not at all. A released
 * migration is never changed: add another.
 *
 * A migration that only adds (tables, indexes, columns with a default) is `additive`: a server of a release before it
 * works on. The database says of each migration that it has whether it is, so that such a server knows. A release may
 * mark one otherwise, and then needs all servers of the release before to be gone.
 */
import type { Knex } from 'knex';
import * as catalogue from './migrations/001-catalogue.ts';
import * as accounts from './migrations/002-accounts.ts';
import * as usage from './migrations/003-usage.ts';
import * as idempotency from './migrations/004-idempotency.ts';
import * as keyUses from './migrations/005-key-uses.ts';
import { SchemaRefused } from './store-errors.ts';

interface Migration {
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
  readonly isAdditive: boolean;
}

const MIGRATIONS: readonly Migration[] = [
  { name: '001-catalogue', up: catalogue.up, isAdditive: false },
  { name: '002-accounts', up: accounts.up, isAdditive: true },
  { name: '003-usage', up: usage.up, isAdditive: true },
  { name: '004-idempotency', up: idempotency.up, isAdditive: true },
  { name: '005-key-uses', up: keyUses.up, isAdditive: true },
];

const TABLE = 'schema_migrations';

export interface MigrationListener {
  /** Told the names of the migrations that were done, if any were. */
  readonly onMigrated?: (names: readonly string[]) => void;
}

interface MigrateOptions {
  /** Whether what is lacking is done, rather than refused. */
  readonly migrates: boolean;
  /** Keeps other processes from doing the same until the transaction ends. */
  readonly lock?: (trx: Knex.Transaction) => Promise<void>;
  readonly transaction?: Knex.TransactionConfig;
}

/**
 * Brings the schema up to date.
 *
 * @throws SchemaRefused when the schema is not one that this release works with.
 */
export async function migrate(
  knex: Knex,
  { migrates, lock, transaction = {} }: MigrateOptions,
  { onMigrated }: MigrationListener,
): Promise<void> {
  const lacking = namesOf(await findLacking(knex));
  if (lacking.length === 0) return;
  if (!migrates) {
    const way = 'run "npm run migrate", or start with MIGRATE_AT_START=yes';
    throw new SchemaRefused(`the database lacks the migrations ${lacking.join(', ')}: ${way}`);
  }
  const done = await knex.transaction(async (trx) => {
    await lock?.(trx);
    await prepareTable(trx);
    const todo = await findLacking(trx); // another process may have been faster
    for (const { name, up, isAdditive } of todo) {
      await up(trx);
      await trx(TABLE).insert({ name, batch: 1, migration_time: new Date(), additive: isAdditive });
    }
    return namesOf(todo);
  }, transaction);
  if (done.length > 0) onMigrated?.(done);
}

async function findLacking(knex: Knex): Promise<readonly Migration[]> {
  if (!(await knex.schema.hasTable(TABLE))) return MIGRATIONS;
  const rows: readonly { name: string; additive?: unknown }[] = await knex(TABLE).select();
  const known = new Set(namesOf(MIGRATIONS));
  const foreign = rows.filter(({ name, additive }) => !known.has(name) && !additive).map(({ name }) => name);
  if (foreign.length > 0) {
    const what = `the database has the migrations ${foreign.join(', ')} of a newer release`;
    throw new SchemaRefused(
      `${what}, on which this one can't work: start the newer one, or restore the backup from before it`,
    );
  }
  const done = new Set(rows.map(({ name }) => name));
  return MIGRATIONS.filter(({ name }) => !done.has(name));
}

/** The table is as knex's own migrator made it for earlier releases, and a column more. */
async function prepareTable(trx: Knex.Transaction): Promise<void> {
  if (!(await trx.schema.hasTable(TABLE))) {
    await trx.schema.createTable(TABLE, (table) => {
      table.increments('id');
      table.string('name');
      table.integer('batch');
      table.timestamp('migration_time');
    });
  }
  if (await trx.schema.hasColumn(TABLE, 'additive')) return;
  await trx.schema.alterTable(TABLE, (table) => table.boolean('additive').notNullable().defaultTo(false));
}

function namesOf(migrations: readonly Migration[]): readonly string[] {
  return migrations.map(({ name }) => name);
}
