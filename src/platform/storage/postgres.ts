/**
 * The PostgreSQL engine. Reads and writes have separate connection pools, so that writes never delay reads.
 *
 * The isolation level is READ COMMITTED: a transaction locks the rows it depends on (`forUpdate`, `forKeyShare`).
 * A transaction is run again, a few times, after a deadlock. A commit is answered once it is on disk: PostgreSQL's
 * `synchronous_commit` does that, which stays on (docs/operations.md).
 *
 * Transactions that lock the same row first queue in this process, and only one of them holds a connection. So a row
 * that stays locked does not use up the pool. Transactions that wait too long or exceed the queue are refused.
 *
 * While the database is unavailable, calls fail after a bounded wait (postgres-pool.ts). Each tries to connect.
 */
import makeKnex from 'knex';
import { Availability } from './availability.ts';
import type { Engine, EngineOptions, IsCancelled } from './engine.ts';
import type { Migration } from './migrate.ts';
import { namedMutex } from './named-mutex.ts';
import type { Connection } from './postgres-connection.ts';
import { retryConflicts } from './postgres-errors.ts';
import { migratePostgres } from './postgres-migrate.ts';
import { PostgresPool } from './postgres-pool.ts';
import { compile, param } from './statement.ts';
import { Cancelled } from './store-errors.ts';

/** How many transactions may queue for the same row, and for how long. */
const QUEUE_BOUNDS = { maxWaiting: 500, maxWaitMs: 5_000 };

export interface PostgresOptions extends EngineOptions {
  /** The maximum number of connections: two fifths for reads, the rest for writes. */
  readonly connections?: number;
  /** Whether the URL leads to PgBouncer. */
  readonly isPooled?: boolean;
}

/**
 * Connects to the database at `url` and migrates its schema.
 *
 * @throws StoreUnavailable when the database can't be reached, with the reason as its message.
 * @throws ConfigError when this release does not support the schema, or PostgreSQL refuses what a start does.
 */
export async function openPostgres(
  url: string,
  migrations: readonly Migration[],
  { connections = 10, isPooled = false, ...options }: PostgresOptions = {},
): Promise<Engine> {
  await migratePostgres(url, isPooled, { ...options, migrations });
  const knex = makeKnex({ client: 'pg' }); // it only composes SQL
  const availability = new Availability(options.logger, 'the database is away: calls that need it fail');
  const readers = Math.max(1, Math.floor(connections * 0.4));
  const poolOf = (size: number) => new PostgresPool(url, size, isPooled, availability);
  const [readPool, writePool] = [poolOf(readers), poolOf(Math.max(1, connections - readers))];
  // A transaction locks a table before it inserts, and until its changes are visible.
  const locks = `select virtualtransaction from pg_locks
    where locktype = 'relation' and mode = 'RowExclusiveLock' and relation = to_regclass(?)
      and database = (select oid from pg_database where datname = current_database())`;
  const writers = compile('locks.writers', knex.raw(locks, [param('table')]));
  // Each pool opens one connection now and keeps it, in case the server has none left later. Through PgBouncer too, a
  // new history begins in a transaction of its own: in a call's it would delay others until the end of that.
  for (const pool of [readPool, writePool])
    await pool.use((connection) => connection.single(writers, { table: 'schema_migrations' }));
  const inTurn = namedMutex(QUEUE_BOUNDS);
  /** Runs work on a connection for writes, again after a conflict. */
  const runWrite = <T>(work: (connection: Connection) => Promise<T>, isCancelled?: IsCancelled): Promise<T> =>
    retryConflicts(() =>
      writePool.use((connection) => {
        if (isCancelled?.() === true) throw new Cancelled();
        return work(connection);
      }),
    );
  return {
    knex,
    availability,
    pools: { read: readPool, write: writePool },
    reader: { all: (statement, params) => readPool.use((connection) => connection.single(statement, params)) },
    // The planner chooses an index by the values of the parameters. It would not see those of several callers.
    compilePage: (name, _columns, compose) =>
      compile(
        name,
        compose((given, type) => (type === undefined ? param(given) : knex.raw(`cast(? as ${type})`, [param(given)]))),
      ),
    whereIdIn: (query, column) => query.whereRaw('?? = any(?)', [column, param('ids')]),
    elementsOf: (name) =>
      knex.raw('json_array_elements(cast(? as json)) with ordinality as elements (value, key)', [param(name)]),
    fromHex: (sql) => `decode(${sql}, 'hex')`,
    transaction(work, { isCancelled, contended, owner } = {}) {
      const transact = () => runWrite((connection) => connection.transact(work), isCancelled);
      return contended === undefined ? transact() : inTurn(contended, transact, owner);
    },
    write(work, { isCancelled, statements = 1 } = {}) {
      const single = (connection: Connection) => work({ all: (...args) => connection.single(...args) });
      return runWrite(statements === 1 ? single : (connection) => connection.transact(work), isCancelled);
    },
    async writersOf(table) {
      const rows = await readPool.use((connection) => connection.single(writers, { table }));
      return new Set(rows.map(({ virtualtransaction }) => String(virtualtransaction)));
    },
    close: async () => void (await Promise.all([readPool.close(), writePool.close()])),
  };
}
