/**
 * The PostgreSQL engine. Reads and writes have separate connection pools, so that writes never delay reads.
 *
 * The isolation level is READ COMMITTED: a transaction locks the rows it depends on (`forUpdate`, `forKeyShare`).
 * A transaction is run again, a few times, after a deadlock. A commit is answered once it is on disk: PostgreSQL's
 * `synchronous_commit` does that, which stays on (docs/operations.md).
 *
 * Transactions that lock the same row first queue in this process, and only one of them holds a connection. So a row
 * that stays locked does not use up the pool. Transactions that wait too long or exceed the queue are refused. Then an
 * account has as many writes in the pool as this has connections: what it has beyond waits, and others do not.
 *
 * While the database is unavailable, calls fail after a bounded wait (postgres-pool.ts). Each tries to connect.
 */
import makeKnex from 'knex';
import { Availability } from './availability.ts';
import type { Engine, EngineOptions, PoolUse, TransactionOptions } from './engine.ts';
import type { Migration } from './migrate.ts';
import { NamedQueues } from './named-queues.ts';
import type { Connection } from './postgres-connection.ts';
import { retryConflicts } from './postgres-errors.ts';
import { migratePostgres } from './postgres-migrate.ts';
import { CONNECT_MS, MAX_WAITING, PostgresPool } from './postgres-pool.ts';
import { compile, param } from './statement.ts';
import { Cancelled } from './store-errors.ts';

/** How many transactions may queue for the same row, and for how long. */
const OF_ROW = { atOnce: 1, maxWaiting: 500, maxWaitMs: 5_000 };

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
  const [ofRows, ofAccounts] = [
    new NamedQueues(OF_ROW),
    new NamedQueues({ atOnce: writePool.size, maxWaiting: MAX_WAITING, maxWaitMs: CONNECT_MS }),
  ];
  const write: PoolUse = {
    size: writePool.size,
    get inUse() {
      return writePool.inUse;
    },
    get waiting() {
      return writePool.waiting + ofAccounts.waiting;
    },
  };
  /** Runs work on a connection for writes, again after a conflict. */
  const runWrite = <T>(
    work: (connection: Connection) => Promise<T>,
    { isCancelled, owner }: TransactionOptions,
  ): Promise<T> => {
    const run = () =>
      retryConflicts(() =>
        writePool.use((connection) => {
          if (isCancelled?.() === true) throw new Cancelled();
          return work(connection);
        }),
      );
    return owner === undefined ? run() : ofAccounts.run(`a connection for account ${owner}`, run);
  };
  return {
    knex,
    availability,
    pools: { read: readPool, write },
    reader: { all: (statement, params) => readPool.use((connection) => connection.single(statement, params)) },
    // The planner chooses an index by the values of the parameters. It would not see those of several callers.
    compilePage: (name, _columns, compose) =>
      compile(
        name,
        compose((given, type) => (type === undefined ? param(given) : knex.raw(`cast(? as ${type})`, [param(given)]))),
      ),
    guessesByColumn: true,
    whereIdIn: (query, column) => query.whereRaw('?? = any(?)', [column, param('ids')]),
    elementsOf: (name) =>
      knex.raw('json_array_elements(cast(? as json)) with ordinality as elements (value, key)', [param(name)]),
    fromHex: (sql) => `decode(${sql}, 'hex')`,
    transaction(work, options = {}) {
      const { contended, owner } = options;
      const transact = () => runWrite((connection) => connection.transact(work), options);
      return contended === undefined ? transact() : ofRows.run(contended, transact, owner);
    },
    write(work, { statements = 1, ...options } = {}) {
      const single = (connection: Connection) => work({ all: (...args) => connection.single(...args) });
      return runWrite(statements === 1 ? single : (connection) => connection.transact(work), options);
    },
    async writersOf(table) {
      const rows = await readPool.use((connection) => connection.single(writers, { table }));
      return new Set(rows.map(({ virtualtransaction }) => String(virtualtransaction)));
    },
    close: async () => void (await Promise.all([readPool.close(), writePool.close()])),
  };
}
