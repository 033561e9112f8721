/**
 * The SQLite engine: one connection for writes and one for reads, each with prepared statements.
 *
 * WAL allows reads while a write waits for the disk. `synchronous=FULL` makes a commit durable before it is answered.
 *
 * While the disk is full, writes fail and reads work. Both work again as soon as there is room.
 */
import makeKnex, { type Knex } from 'knex';
import { ConfigError } from '../config/setting.ts';
import { Availability } from './availability.ts';
import type { Engine, EngineOptions } from './engine.ts';
import { groupCommit } from './group-commit.ts';
import { type Migration, migrate } from './migrate.ts';
import { isLocked, openDatabase, SqliteConnection, toStoreError } from './sqlite-connection.ts';
import { SqliteWriter } from './sqlite-writer.ts';
import { compile, param, type Row, type Statement, toJson } from './statement.ts';
import { StoreUnavailable } from './store-errors.ts';

/** How long a statement waits for another process's lock on the file. */
const BUSY_TIMEOUT_MS = 5_000;
/** To this the WAL shrinks again after a long reader, such as a backup. Otherwise it has about 4 MiB. */
const WAL_BYTES = 16_777_216;

/** `sqlite3` reads integers as numbers, which are exact below 2^53. The rest is for new ids. */
const MAX_ID = 2 ** 52;

const PRAGMAS = [
  `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`,
  'PRAGMA journal_mode = WAL',
  `PRAGMA journal_size_limit = ${WAL_BYTES}`,
  'PRAGMA synchronous = FULL',
  'PRAGMA foreign_keys = ON',
];
/** What a savepoint may undo stays in memory, a few MB: the disk of temporary files may be full or read-only. */
const IN_MEMORY = 'PRAGMA temp_store = MEMORY';

/** Waits for other writers at once. knex begins a transaction that fails if one of them writes before it does. */
async function lock(trx: Knex.Transaction, maxWaitMs: number): Promise<void> {
  await trx.raw('COMMIT');
  for (const endMs = performance.now() + maxWaitMs; ; ) {
    try {
      return await trx.raw('BEGIN IMMEDIATE');
    } catch (error) {
      if (!isLocked(error) || performance.now() > endMs) throw error;
    }
  }
}

/**
 * Opens or creates `file` and migrates its schema.
 *
 * @throws StoreUnavailable when another process locks the file for too long, or the disk is full.
 * @throws ConfigError when this release does not support the schema, or ids are too large.
 */
export async function openSqlite(
  file: string,
  migrations: readonly Migration[],
  options: EngineOptions = {},
): Promise<Engine> {
  const log = { warn: () => undefined }; // knex throws these errors too
  const knex = makeKnex({ client: 'sqlite3', connection: { filename: file }, useNullAsDefault: true, log });
  try {
    for (const pragma of PRAGMAS) await knex.raw(pragma);
    await migrate(knex, { ...options, migrations, lock });
    const [large] = await knex('sqlite_sequence').where('seq', '>', MAX_ID).select('name');
    if (large) throw new ConfigError(`the ids of ${large.name} are too large for SQLite here, above 2^52`);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    await knex.destroy(); // from now on it only composes SQL
  }
  const writer = new SqliteWriter(await openDatabase(file, [...PRAGMAS, IN_MEMORY]));
  const reader = new SqliteConnection(await openDatabase(file, [...PRAGMAS, IN_MEMORY, 'PRAGMA query_only = ON']));
  const commit = groupCommit(writer);
  const text = "the database can't be written to: calls that change something fail";
  const availability = new Availability(options.logger, text);
  const observed = async <T>(write: Promise<T>): Promise<T> => {
    const beganMs = performance.now();
    try {
      const result = await write;
      availability.noteResponse(beganMs);
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailable) availability.noteFailure(error, beganMs);
      throw error;
    }
  };
  return {
    knex,
    availability,
    reader,
    guessesByColumn: false,
    // A row for each caller, with the rows that he gets as JSON: objects of their own would cost much more.
    compilePage(name, columns, compose) {
      const names: string[] = [];
      const page = compose((param) => knex.raw(`callers.value ->> ${names.push(param) - 1}`));
      const json = knex.raw(`json_group_array(json_object(${columns.map((column) => `'${column}', "${column}"`)}))`);
      const callers = knex.raw('json_each(?) as callers', [param('callers')]);
      const query = knex
        .select(knex(page.as('page')).select(json).as('rows'))
        .from(callers)
        .orderBy('callers.rowid'); // json_each's own order: no sort
      const statement = compile(name, query);
      const bind: Statement['bind'] = (...all) =>
        statement.bind({ callers: toJson(all, names), '#rows': all[0]?.['#rows'] });
      const share = (_: unknown, found: readonly Row[]) => found.map(({ rows }) => JSON.parse(String(rows)) as Row[]);
      return { ...statement, bind, share };
    },
    whereIdIn: (query, column) => query.whereRaw('?? in (select value from json_each(?))', [column, param('ids')]),
    // Its rowid is its own order, so that a statement in the order of the keys sorts nothing.
    elementsOf: (name) => knex.raw('(select value, rowid as key from json_each(?))', [param(name)]),
    fromHex: (sql) => `unhex(${sql})`,
    transaction: (work, options) => observed(commit(work, options)),
    write: (work, options) => observed(commit(work, options, true)),
    writersOf: async () => new Set(),
    async close() {
      // In sequence, since the last connection to close writes the WAL back to the file.
      await reader.close();
      await writer.close();
    },
  };
}
