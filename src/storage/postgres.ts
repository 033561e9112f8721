/**
 * The PostgreSQL engine: some connections that read, and others that write, so that no write holds up a read.
 *
 * Isolation is READ COMMITTED: what a transaction builds on it locks first (`forUpdate`, `forKeyShare`). Engines that
 * speak PostgreSQL and are stricter (CockroachDB, Yugabyte) refuse a transaction now and then, as PostgreSQL does on a
 * deadlock: it is run anew then, a few times.
 *
 * Transactions that lock the same row first wait for each other here, one of them with a connection, so that a row
 * that somebody keeps locked holds up nobody else. Those that wait too long, or are too many, are refused.
 *
 * When the database is away or silent a call fails with StoreUnavailable after a bounded wait (see postgres-pool.ts).
 * Each call tries by itself, so nothing has to be told when the database is back.
 */
import { setTimeout as delay } from 'node:timers/promises';
import makeKnex, { type Knex } from 'knex';
import { DatabaseError } from 'pg';
import type { IsCancelled } from '../model.ts';
import { Availability, type AvailabilityListener } from './availability.ts';
import { toJson } from './bulk.ts';
import type { Engine } from './engine.ts';
import { type MigrationListener, migrate } from './migrate.ts';
import { isConflict, toStoreError } from './postgres-errors.ts';
import { hasOwnSessions, type LockOptions, takeLock, withAdvisoryLock } from './postgres-lock.ts';
import { type Connection, PostgresPool } from './postgres-pool.ts';
import { createSession } from './postgres-session.ts';
import { toPostgres } from './postgres-values.ts';
import { param } from './statement.ts';
import { Cancelled } from './store-errors.ts';
import { Lanes } from './turns.ts';

/** How often a transaction is run at the most, and the pause before the second time; it doubles each time. */
const MAX_RUNS = 6;
const FIRST_PAUSE_MS = 5;
/** How many transactions may wait for those that lock the same row, and how long. */
const LANE_BOUNDS = { maxWaiting: 500, maxWaitMs: 5_000 };
/** How long a migration waits for each table that it changes: meanwhile everybody else waits behind it. */
const TABLE_LOCK_MS = 10_000;

export interface PostgresOptions extends AvailabilityListener, MigrationListener, LockOptions {
  /** Connections at the most: two fifths read, the others write. */
  readonly connections?: number;
  /** Whether statements are prepared; undefined: unless there is a pooler in between. */
  readonly preparedStatements?: boolean | undefined;
  /** Whether the schema is brought up to date, rather than only looked at. */
  readonly migrates?: boolean;
}

/**
 * Connects to the database at `url` and brings its schema up to date.
 *
 * @throws StoreUnavailable when there is no connection to be had, with the reason as its message.
 * @throws SchemaRefused when the schema is not one that this release works with.
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Engine> {
  const { connections = 10, preparedStatements, migrates = true } = options;
  const isDirect = await hasOwnSessions(url);
  const knex = makeKnex({ client: 'pg', connection: url, pool: { min: 0, max: 1 } });
  try {
    const lock = (trx: Knex.Transaction) => lockForMigration(trx, options);
    await migrate(knex, { migrates, lock, ...READ_COMMITTED }, options);
  } catch (error) {
    throw error instanceof DatabaseError ? toStoreError(error) : error;
  } finally {
    await knex.destroy(); // from here on it composes SQL and runs none
  }

  const availability = new Availability(options);
  const readers = Math.max(1, Math.floor(connections * 0.4));
  const poolOf = (size: number) => new PostgresPool({ url, size, hasOwnSessions: isDirect }, availability);
  const [readPool, writePool] = [poolOf(readers), poolOf(Math.max(1, connections - readers))];
  // Each has one from the start, and keeps it, should there be none to be had later.
  for (const pool of [readPool, writePool]) await pool.use((connection) => connection.query('SELECT 1'));
  const session = createSession({ hasOwnSessions: isDirect, isPreparing: preparedStatements ?? isDirect });
  const lanes = new Lanes(LANE_BOUNDS);
  const change = <T>(work: (connection: Connection) => Promise<T>, isCancelled?: IsCancelled) =>
    runAnew(() => {
      checkNotCancelled(isCancelled);
      return writePool.use((connection) => {
        checkNotCancelled(isCancelled);
        return work(connection);
      });
    });
  return {
    knex,
    state: {
      get isAway() {
        return availability.isAway;
      },
      pools: { read: readPool, write: writePool },
    },
    reader: { all: (statement, params) => readPool.use((connection) => session.single(connection, statement, params)) },
    whereIdIn: (query, column, type = 'bigint') =>
      query.whereRaw(`?? = any(cast(? as ${type}[]))`, [column, param('ids')] as never),
    toIdList: (ids) => `{${ids.join(',')}}`,
    elementsOf: (name) =>
      knex.raw('json_array_elements(cast(? as json)) with ordinality as elements (value, key)', [param(name)]),
    toElements: (rows) => toJson(rows.map((row) => row.map(toPostgres))),
    forUpdate: (query) => query.forUpdate(),
    forKeyShare: (query) => query.forKeyShare(),
    async transaction(work, isCancelled, contended) {
      const transact = () => change((connection) => session.transact(connection, work), isCancelled);
      const lane = typeof contended === 'function' ? await contended() : contended;
      return lane === undefined ? transact() : lanes.use(lane, transact);
    },
    write: (statement, params, isCancelled) =>
      change((connection) => session.single(connection, statement, params), isCancelled),
    withAdvisoryLock: (work) => withAdvisoryLock(url, work, options),
    close: async () => void (await Promise.all([readPool.close(), writePool.close()])),
  };
}

/** So that what others did while the lock was waited for is seen. */
const READ_COMMITTED = { transaction: { isolationLevel: 'read committed' } } as const;

async function lockForMigration(trx: Knex.Transaction, options: LockOptions): Promise<void> {
  await takeLock((sql) => trx.raw(sql), options);
  await trx.raw(`SET LOCAL lock_timeout = ${TABLE_LOCK_MS}`);
}

function checkNotCancelled(isCancelled?: IsCancelled): void {
  if (isCancelled?.() === true) throw new Cancelled();
}

/** Runs what was undone because others were in its way anew, after a pause that differs from theirs. */
async function runAnew<T>(attempt: () => Promise<T>): Promise<T> {
  for (let runs = 1; ; runs += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error) || runs === MAX_RUNS) throw error;
      await delay(Math.random() * FIRST_PAUSE_MS * 2 ** runs);
    }
  }
}
