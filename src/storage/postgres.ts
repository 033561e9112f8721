/**
 * The PostgreSQL engine: a pool of connections, on each of which every statement is prepared once, by name.
 *
 * Isolation is READ COMMITTED: what a transaction builds on it locks first (`forUpdate`, `forKeyShare`). Engines that
 * speak PostgreSQL and are stricter (CockroachDB, Yugabyte) refuse a transaction now and then, as PostgreSQL does on a
 * deadlock: it is run anew then, a few times.
 *
 * When the database is away or silent a call fails with StoreUnavailable after a bounded wait (see postgres-pool.ts).
 * Each call tries by itself, so nothing has to be told when the database is back.
 */
import { setTimeout as delay } from 'node:timers/promises';
import makeKnex from 'knex';
import { Client } from 'pg';
import type { IsWanted } from '../model.ts';
import type { Engine, Row, Runner } from './engine.ts';
import { WorkAbandoned } from './errors.ts';
import { migrateAlone } from './migrate.ts';
import { isConflict, unavailable } from './postgres-errors.ts';
import { type Availability, type Connection, PostgresPool } from './postgres-pool.ts';
import { decodeRow, toPostgres } from './postgres-values.ts';
import { type Params, param, type Statement } from './statement.ts';

/** How often a transaction is run at the most, and the pause before the second time; it doubles each time. */
const MAX_RUNS = 6;
const FIRST_PAUSE_MS = 5;
/** The advisory lock of `alone`: any number that nobody else in the database uses. */
const ALONE = 7_073_746_573;

/**
 * Connects to the database at `url` and brings its schema up to date.
 *
 * @throws StoreUnavailable when there is no connection to be had, with the reason as its message.
 */
export async function openPostgres(url: string, availability: Availability = {}): Promise<Engine> {
  const knex = makeKnex({ client: 'pg', connection: url, pool: { min: 0, max: 1 } });
  try {
    await alone(url, () => migrateAlone(knex));
  } finally {
    await knex.destroy(); // from here on it composes SQL and runs none
  }
  const pool = new PostgresPool(url, availability);
  const change = <T>(work: (connection: Connection) => Promise<T>, isWanted: IsWanted) =>
    runAnew(() =>
      pool.use((connection) => {
        if (!isWanted()) throw new WorkAbandoned();
        return work(connection);
      }),
    );
  return {
    knex,
    reader: { all: (statement, params) => pool.use((connection) => run(connection, statement, params)) },
    whereIdIn: (query, column) => query.whereRaw('?? = any(cast(? as bigint[]))', [column, param('ids')] as never),
    toIdList: (ids) => `{${ids.join(',')}}`,
    forUpdate: (query) => query.forUpdate(),
    forKeyShare: (query) => query.forKeyShare(),
    transaction: (work, isWanted) => change((connection) => transact(connection, work), isWanted),
    write: (statement, params, isWanted) => change((connection) => run(connection, statement, params), isWanted),
    alone: (work) => alone(url, work),
    close: () => pool.close(),
  };
}

async function run(connection: Connection, statement: Statement, params: Params): Promise<readonly Row[]> {
  const values = statement.bind(params).map(toPostgres);
  const { rows } = await connection.query({ name: statement.name, text: statement.sql, values });
  return rows.map(decodeRow);
}

async function transact<T>(connection: Connection, work: (tx: Runner) => Promise<T>): Promise<T> {
  const begun = connection.query('BEGIN'); // not waited for: it goes out together with the first statement
  begun.catch(() => undefined);
  let result: T;
  try {
    result = await work({ all: (statement, params) => run(connection, statement, params) });
  } catch (error) {
    await begun;
    if (!connection.isBroken) await connection.query('ROLLBACK');
    throw error;
  }
  const { command } = await connection.query('COMMIT');
  // What the server answers to COMMIT after a statement that failed, if `work` did not mind.
  if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
  return result;
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

/** On a connection of its own, which waits as long as it takes; the lock goes with the connection, even in a crash. */
async function alone<T>(url: string, work: () => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, keepAlive: true });
  client.on('error', () => undefined); // the query that comes next says so
  await client.connect().catch((error: unknown) => {
    throw unavailable(error);
  });
  try {
    await client.query('SELECT pg_advisory_lock($1)', [ALONE]);
    return await work();
  } finally {
    await client.end();
  }
}
