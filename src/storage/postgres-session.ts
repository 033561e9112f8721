/**
 * Runs statements on a connection.
 *
 * A connection sets its timeouts once, and prepares each statement once, by name. PgBouncer shares sessions between its
 * clients per transaction, so no state may stay in a session: each transaction sets the timeouts, a single statement
 * runs in a transaction, and nothing is prepared. The additional commands are sent together with the statement, so both
 * modes wait for the same number of responses.
 */
import type { QueryResult } from 'pg';
import type { Runner } from './engine.ts';
import type { Row } from './fields.ts';
import { type Connection, SERVER_TIMEOUTS } from './postgres-pool.ts';
import type { Params, SqlValue, Statement } from './statement.ts';

const SET_TIMEOUTS = Object.entries(SERVER_TIMEOUTS).map(([name, ms]) => `; SET LOCAL ${name} = ${ms}`);

export interface Session {
  /** Runs one statement as a transaction. */
  single(connection: Connection, statement: Statement, params: Params): Promise<readonly Row[]>;
  transact<T>(connection: Connection, work: (tx: Runner) => Promise<T>): Promise<T>;
}

export function createSession(isPooled: boolean): Session {
  const begin = isPooled ? `BEGIN${SET_TIMEOUTS.join('')}` : 'BEGIN';

  const run = async (connection: Connection, statement: Statement, params: Params): Promise<readonly Row[]> => {
    const query = { text: statement.sql, values: statement.bind(params).map(toPostgres) };
    return (await connection.query(isPooled ? query : { ...query, name: statement.name })).rows;
  };

  const transact: Session['transact'] = async (connection, work) => {
    const beginning = connection.query(begin); // not awaited: it is sent together with the first statement
    beginning.catch(() => undefined);
    let result: Awaited<ReturnType<typeof work>>;
    try {
      result = await work({ all: (statement, params) => run(connection, statement, params) });
    } catch (error) {
      await beginning;
      if (connection.failure === undefined) await connection.query('ROLLBACK');
      throw error;
    }
    checkCommit(await connection.query('COMMIT'));
    return result;
  };

  const runAsTransaction: Session['single'] = async (connection, statement, params) => {
    const all = [connection.query(begin), run(connection, statement, params), connection.query('COMMIT')] as const;
    await Promise.allSettled(all); // the connection is in use until the last response has arrived
    const [, rows, committed] = await Promise.all(all);
    checkCommit(committed);
    return rows;
  };

  return { single: isPooled ? runAsTransaction : run, transact };
}

function toPostgres(value: SqlValue): SqlValue {
  if (Array.isArray(value)) return `{${value.join()}}`;
  return typeof value === 'bigint' ? String(value) : value;
}

/** After a failed statement the server responds to COMMIT with ROLLBACK, even if `work` ignored the failure. */
function checkCommit({ command }: QueryResult): void {
  if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
}
