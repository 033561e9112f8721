/**
 * The PostgreSQL engine. Reads and writes have separate connection pools, so that writes never delay reads.
 *
 * The isolation level is READ COMMITTED: a transaction locks the rows it depends on (`forUpdate`, `forKeyShare`).
 * A transaction is run again, a few times, after a deadlock or a serialization failure. Databases with PostgreSQL's
 * protocol and stricter isolation (CockroachDB, Yugabyte) report the latter.
 *
 * Transactions that lock the same row first queue in this process, and only one of them holds a connection. So a row
 * that stays locked does not use up the pool. Transactions that wait too long or exceed the queue are refused.
 *
 * While the database is unavailable, calls fail with StoreUnavailable after a bounded wait (see postgres-pool.ts). Each
 * call tries to connect, so no recovery step is needed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import makeKnex, { type Knex } from 'knex';
import { DatabaseError } from 'pg';
import { Availability, type AvailabilityListener } from './availability.ts';
import type { Engine } from './engine.ts';
import { type Migration, type MigrationListener, migrate } from './migrate.ts';
import type { IsCancelled } from './model.ts';
import { isConflict, toStoreError, unavailable } from './postgres-errors.ts';
import { type LockOptions, takeLock } from './postgres-lock.ts';
import { type Connection, PostgresPool } from './postgres-pool.ts';
import { createSession } from './postgres-session.ts';
import { NamedMutex } from './semaphore.ts';
import { compile, param } from './statement.ts';
import { Cancelled, SchemaRefused } from './store-errors.ts';

/** How often a transaction runs at most, and the base of the exponential backoff between runs. */
const MAX_RUNS = 6;
const BACKOFF_MS = 5;
/** How many transactions may queue for the same row, and for how long. */
const QUEUE_BOUNDS = { maxWaiting: 500, maxWaitMs: 5_000 };
/** How long a start waits for a connection. */
const CONNECT_MS = 10_000;
/** How long a migration waits to lock a table. Other transactions on the table wait behind it. */
const TABLE_LOCK_MS = 10_000;

export interface PostgresOptions extends AvailabilityListener, MigrationListener, LockOptions {
  /** The maximum number of connections: two fifths for reads, the rest for writes. */
  readonly connections?: number;
  /** Whether the URL leads to PgBouncer. */
  readonly isPooled?: boolean;
  /** Whether to migrate the schema, rather than only check it. */
  readonly migrates?: boolean;
}

/**
 * Connects to the database at `url` and migrates its schema.
 *
 * @throws StoreUnavailable when the database can't be reached, with the reason as its message.
 * @throws SchemaRefused when this release does not support the schema.
 */
export async function openPostgres(
  url: string,
  migrations: readonly Migration[],
  options: PostgresOptions = {},
): Promise<Engine> {
  const { connections = 10, isPooled = false, migrates = true } = options;
  const connection = { connectionString: url, connectionTimeoutMillis: CONNECT_MS };
  const log = { warn: () => undefined }; // it also throws what it logs
  const knex = makeKnex({ client: 'pg', connection, pool: { min: 0, max: 1 }, log });
  try {
    await knex.raw('SELECT 1').catch((error: unknown) => Promise.reject(unavailable(error)));
    await checkRights(knex);
    const lock = (trx: Knex.Transaction) => lockForMigration(trx, options);
    await migrate(knex, { migrations, migrates, lock, ...READ_COMMITTED }, options);
  } catch (error) {
    throw error instanceof DatabaseError ? toStoreError(error) : error;
  } finally {
    await knex.destroy(); // from now on it only composes SQL
  }

  const availability = new Availability(options);
  const readers = Math.max(1, Math.floor(connections * 0.4));
  const poolOf = (size: number) => new PostgresPool({ url, size, isPooled }, availability);
  const [readPool, writePool] = [poolOf(readers), poolOf(Math.max(1, connections - readers))];
  // Each pool opens one connection now and keeps it, in case the server has none left later.
  for (const pool of [readPool, writePool]) await pool.use((connection) => connection.query('SELECT 1'));
  const session = createSession(isPooled);
  // A transaction locks a table before it inserts, and until its changes are visible.
  const writers = compile(
    'locks.writers',
    knex('pg_locks')
      .select('virtualtransaction')
      .where({ locktype: 'relation', mode: 'RowExclusiveLock', relation: knex.raw('to_regclass(?)', [param('table')]) })
      .whereRaw('database = (select oid from pg_database where datname = current_database())'),
  );
  const mutex = new NamedMutex(QUEUE_BOUNDS);
  const runWrite = <T>(work: (connection: Connection) => Promise<T>, isCancelled?: IsCancelled) =>
    retryConflicts(() => {
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
    whereIdIn: (query, column) => query.whereRaw('?? = any(?)', [column, param('ids')] as never),
    elementsOf: (name) =>
      knex.raw('json_array_elements(cast(? as json)) with ordinality as elements (value, key)', [param(name)]),
    forUpdate: (query) => query.forUpdate(),
    forKeyShare: (query) => query.forKeyShare(),
    async transaction(work, isCancelled, contended) {
      const transact = () => runWrite((connection) => session.transact(connection, work), isCancelled);
      const name = typeof contended === 'function' ? await contended() : contended;
      return name === undefined ? transact() : mutex.run(name, transact);
    },
    write: (statement, params, isCancelled) =>
      runWrite((connection) => session.single(connection, statement, params), isCancelled),
    async writersOf(table) {
      const rows = await readPool.use((connection) => session.single(connection, writers, { table }));
      return new Set(rows.map(({ virtualtransaction }) => String(virtualtransaction)));
    },
    close: async () => void (await Promise.all([readPool.close(), writePool.close()])),
  };
}

/** The migration must see what other processes committed while it waited for the lock. */
const READ_COMMITTED = { transaction: { isolationLevel: 'read committed' } } as const;

/** What a server needs, of tables of the owner of the service's. `deploy/grants.sql` grants it. */
const LACKING_RIGHTS = `
  SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
    AND relowner = (SELECT relowner FROM pg_class WHERE oid = to_regclass('schema_migrations')) AND CASE relkind
      WHEN 'r' THEN EXISTS (SELECT FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
        WHERE NOT has_table_privilege(pg_class.oid, needed))
      WHEN 'S' THEN NOT has_sequence_privilege(oid, 'USAGE') END
    ORDER BY relname`;

/** Without rights on it, even the table of migrations looks as if it were missing. */
async function checkRights(knex: Knex): Promise<void> {
  const { rows } = await knex.raw<{ rows: readonly { relname: string }[] }>(LACKING_RIGHTS);
  if (rows.length === 0) return;
  const names = rows.map(({ relname }) => relname).join(', ');
  const wayOut = 'the owner of the tables must run deploy/grants.sql';
  throw new SchemaRefused(`the user of DATABASE_URL lacks rights on ${names}: ${wayOut}`);
}

async function lockForMigration(trx: Knex.Transaction, options: LockOptions): Promise<void> {
  await takeLock((sql) => trx.raw(sql), options);
  await trx.raw(`SET LOCAL lock_timeout = ${TABLE_LOCK_MS}`);
}

function checkNotCancelled(isCancelled?: IsCancelled): void {
  if (isCancelled?.() === true) throw new Cancelled();
}

/** Retries after a conflict with another transaction, with exponential backoff and jitter. */
async function retryConflicts<T>(attempt: () => Promise<T>): Promise<T> {
  for (let runs = 1; ; runs += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error) || runs === MAX_RUNS) throw error;
      await delay(Math.random() * BACKOFF_MS * 2 ** runs);
    }
  }
}
