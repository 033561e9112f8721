/**
 * Runs statements and transactions on a connection to PostgreSQL, of whose session it knows the state: the status of
 * the last ReadyForQuery, which an error makes unknown.
 *
 * | state                  | event                                | what happens                                      |
 * |------------------------|--------------------------------------|---------------------------------------------------|
 * | idle                   | a single statement                   | it runs: idle                                     |
 * | idle                   | the first statement of a transaction | it runs behind BEGIN, up to one Sync: open        |
 * | open                   | a further statement, COMMIT          | it runs: open, idle                               |
 * | idle, unknown          | a further statement, COMMIT          | it is not sent: the transaction is rolled back    |
 * | any                    | an error, BEGIN's too                | unknown; the server skips what is up to that Sync |
 * | any                    | COMMIT is answered by ROLLBACK       | idle; the transaction fails                       |
 * | any                    | an error that tells of another state | the connection is closed when the work ends       |
 * | any                    | the connection breaks, or is silent  | broken; of a COMMIT the outcome is unknown        |
 * | open, unknown          | the work ends                        | ROLLBACK, or what only asks for the state: idle   |
 * | open, unknown          | that fails too                       | the connection is closed                          |
 * | idle, known            | the work ends                        | back to the pool                                  |
 *
 * A connection sets its isolation level and timeouts once, whatever the database's defaults are, and prepares each
 * statement once, by name. PgBouncer shares sessions between its clients per transaction, so no state may stay in a
 * session: each transaction sets them, a single statement runs in a transaction, and nothing is prepared. The commands
 * for that are sent together with the statement, so both modes wait for the same number of responses.
 */
import type { QueryConfig, QueryResult } from 'pg';
import type { Runner } from './engine.ts';
import type { Command, PostgresClient } from './postgres-client.ts';
import { is, isAway, toStoreError, unavailable } from './postgres-errors.ts';
import type { Params, Row, Statement } from './statement.ts';

/** The server's timeouts, in ms. */
const TIMEOUTS = Object.entries({
  lock_timeout: 4_000,
  statement_timeout: 5_000,
  idle_in_transaction_session_timeout: 5_000,
});
/** What begins a transaction: the session has prepared it. */
const BEGIN: Command = { name: 'begin', text: 'BEGIN' };
/** What begins one through PgBouncer, for which a session may be new. */
const BEGIN_POOLED: readonly Command[] = [
  { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' },
  {
    text: `SELECT pg_backend_pid() AS pid, CASE WHEN coalesce(current_setting('events.history', true), '') = ''
      THEN adopt_event_history() END`,
  },
  { text: 'COMMIT AND CHAIN' },
  { text: `SELECT ${TIMEOUTS.map(([name, ms]) => `set_config('${name}', '${ms}', true)`)}` },
];

/**
 * The first commands of a connection. The last one fails on a standby, and sees to it that no id of an event is used
 * twice (events/migrations/009-events.ts): a change of role or history ends a session. Through PgBouncer a
 * session's first transaction does so. Resolves with the name of the history.
 */
export async function startSession(client: Pick<PostgresClient, 'query' | 'processID'>): Promise<string> {
  const timeouts = TIMEOUTS.map(([name, ms]) => `; SET ${name} = ${ms}`).join('');
  const settings = `SET default_transaction_isolation = 'read committed'${timeouts}`;
  const commands = [BEGIN, settings, 'COMMIT', 'SELECT adopt_event_history() AS history, pg_backend_pid() AS pid'];
  const row = (await Promise.all(commands.map((query) => client.query(query)))).at(-1)?.rows[0];
  client.processID = row?.pid;
  return row?.history;
}

/** A borrowed connection. Its methods throw StoreUnavailable when it breaks or no response arrives in time. */
export class Connection {
  readonly #client: PostgresClient;
  readonly #isPooled: boolean;
  /** Whether the last query has succeeded: then ReadyForQuery has come, with the session's status. */
  #isKnown = true;
  #hasBegun = false;
  /** Whether an error has told that the session is not what it is taken for. */
  #isStale = false;
  /** Why the connection is broken: its first failure; undefined while it works. */
  failure: Error | undefined;
  /** Whether the database has responded, with rows or with an error. */
  hasResponse = false;

  /** `isPooled` says whether PgBouncer is in between. */
  constructor(client: PostgresClient, isPooled: boolean) {
    this.#client = client;
    this.#isPooled = isPooled;
  }

  /** Whether the session is idle and whole, and so may be used for other work. */
  get isIdle(): boolean {
    return this.failure === undefined && !this.#isStale && this.#isIn('I');
  }

  query(query: string | QueryConfig): Promise<QueryResult> {
    return this.#note(this.#client.query(query));
  }

  /** Runs one statement as a transaction. */
  async single(statement: Statement, params: Params): Promise<readonly Row[]> {
    if (!this.#isPooled) return this.#run(statement, params);
    const all = [this.#run(statement, params, true), this.query('COMMIT')] as const;
    await Promise.allSettled(all); // the connection is in use until the last response has arrived
    const [rows, committed] = await Promise.all(all);
    checkCommit(committed);
    return rows;
  }

  /** Statements of the work wait for each other, and the end for all of them. */
  async transact<T>(work: (tx: Runner) => Promise<T>): Promise<T> {
    let last: Promise<unknown> = Promise.resolve();
    const all = (statement: Statement, params: Params) => {
      const rows = last.then(() => {
        if (this.#hasBegun) this.#checkOpen();
        return this.#run(statement, params, !this.#hasBegun);
      });
      last = rows.catch(() => undefined);
      return rows;
    };
    const result = await work({ all }).finally(() => last); // it may have left statements behind
    if (!this.#hasBegun) return result;
    this.#checkOpen();
    checkCommit(await this.query('COMMIT'));
    return result;
  }

  /** Makes the session idle after work that has failed. Where that fails too, the connection is not idle. */
  async reset(): Promise<void> {
    if (this.isIdle || this.failure !== undefined) return;
    await this.query(this.#hasBegun ? 'ROLLBACK' : '').catch(() => undefined);
  }

  #isIn(status: 'I' | 'T'): boolean {
    return this.#isKnown && this.#client.getTransactionStatus() === status;
  }

  /** In particular it is not open after a failed statement, whose failure the work may have ignored. */
  #checkOpen(): void {
    if (!this.#isIn('T')) throw new Error('the transaction ended with ROLLBACK');
  }

  async #run({ name, sql, bind }: Statement, params: Params, begins = false): Promise<readonly Row[]> {
    const query = { text: sql, values: bind(params), ...(this.#isPooled ? {} : { name }) };
    if (!begins) return (await this.query(query)).rows;
    this.#hasBegun = true;
    const results = await this.#note(this.#client.queryBehind(this.#isPooled ? BEGIN_POOLED : [BEGIN], query));
    if (this.#isPooled) this.#client.processID = results[1]?.rows[0].pid;
    return results.at(-1)?.rows ?? [];
  }

  async #note<T>(response: Promise<T>): Promise<T> {
    this.#isKnown = false;
    try {
      const result = await response;
      this.hasResponse = true;
      this.#isKnown = true;
      return result;
    } catch (error) {
      this.#isStale ||= is('stale', error);
      if (isAway(error)) this.failure ??= unavailable(error);
      else this.hasResponse = true;
      throw toStoreError(error);
    }
  }
}

/** The server responds to COMMIT with ROLLBACK where a statement has failed. */
function checkCommit({ command }: QueryResult): void {
  if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
}
