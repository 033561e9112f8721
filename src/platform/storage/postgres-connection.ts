/**
 * Runs statements and transactions on a connection to PostgreSQL.
 *
 * A connection sets its isolation level and timeouts once, whatever the database's defaults are, and prepares each
 * statement once, by name. PgBouncer shares sessions between its clients per transaction, so no state may stay in a
 * session: each transaction sets them, a single statement runs in a transaction, and nothing is prepared. The commands
 * for that are sent together with the statement, so both modes wait for the same number of responses.
 */
import type { PoolClient, QueryConfig, QueryResult } from 'pg';
import type { Runner } from './engine.ts';
import type { Row } from './fields.ts';
import { isAway, toStoreError, unavailable } from './postgres-errors.ts';
import type { Params, Statement } from './statement.ts';

/** The server's timeouts, in ms. */
const TIMEOUTS = { lock_timeout: 4_000, statement_timeout: 5_000, idle_in_transaction_session_timeout: 5_000 };
const setAll = (scope: string) =>
  Object.entries(TIMEOUTS)
    .map(([name, ms]) => `; SET ${scope} ${name} = ${ms}`)
    .join('');
/** The first command of a connection. */
export const START_SESSION = `SET default_transaction_isolation = 'read committed'${setAll('SESSION')}`;
/** The first command of a transaction through PgBouncer. */
const BEGIN_POOLED = `BEGIN ISOLATION LEVEL READ COMMITTED${setAll('LOCAL')}`;

/** A borrowed connection. Its methods throw StoreUnavailable when it breaks or no response arrives in time. */
export class Connection {
  readonly #client: PoolClient;
  readonly #isPooled: boolean;
  /** Why the connection is broken; undefined while it works. */
  failure: Error | undefined;
  /** Whether the database has responded, with rows or with an error. */
  hasResponse = false;

  /** `isPooled` says whether PgBouncer is in between. */
  constructor(client: PoolClient, isPooled: boolean) {
    this.#client = client;
    this.#isPooled = isPooled;
  }

  async query(query: string | QueryConfig): Promise<QueryResult> {
    try {
      const result = await this.#client.query(query);
      this.hasResponse = true;
      return result;
    } catch (error) {
      if (isAway(error)) this.failure = unavailable(error);
      else this.hasResponse = true;
      throw toStoreError(error);
    }
  }

  /** Runs one statement as a transaction. */
  async single(statement: Statement, params: Params): Promise<readonly Row[]> {
    if (!this.#isPooled) return this.#run(statement, params);
    const all = [this.#begin(), this.#run(statement, params), this.query('COMMIT')] as const;
    await Promise.allSettled(all); // the connection is in use until the last response has arrived
    const [, rows, committed] = await Promise.all(all);
    checkCommit(committed);
    return rows;
  }

  async transact<T>(work: (tx: Runner) => Promise<T>): Promise<T> {
    const beginning = this.#begin(); // not awaited: it is sent together with the first statement
    beginning.catch(() => undefined);
    let result: T;
    try {
      result = await work({ all: (statement, params) => this.#run(statement, params) });
    } catch (error) {
      // Also when the beginning failed: it sets timeouts, maybe in a transaction that has begun by then.
      if (this.failure === undefined) await this.query('ROLLBACK');
      await beginning;
      throw error;
    }
    checkCommit(await this.query('COMMIT'));
    return result;
  }

  #begin(): Promise<QueryResult> {
    return this.query(this.#isPooled ? BEGIN_POOLED : 'BEGIN');
  }

  async #run({ name, sql, bind }: Statement, params: Params): Promise<readonly Row[]> {
    const query = { text: sql, values: bind(params) };
    return (await this.query(this.#isPooled ? query : { ...query, name })).rows;
  }
}

/** After a failed statement the server responds to COMMIT with ROLLBACK, even if `work` ignored the failure. */
function checkCommit({ command }: QueryResult): void {
  if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
}
