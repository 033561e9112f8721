/**
 * How statements are run on a connection.
 *
 * With a session of our own, the server was told once when to give up, and each statement is prepared once, by name.
 * Through a pooler that lends a session for a transaction (PgBouncer), nothing may be left behind in it: each
 * transaction says when to give up, a single statement is a transaction too, and nothing is prepared unless the pooler
 * is known to keep track of it. What then goes with a statement is sent together with it, so that neither way waits
 * for more answers than the other.
 */
import type { QueryResult } from 'pg';
import type { Runner } from './engine.ts';
import { type Connection, SERVER_GIVES_UP } from './postgres-pool.ts';
import { decodeRow, toPostgres } from './postgres-values.ts';
import type { Row } from './row.ts';
import type { Params, Statement } from './statement.ts';

const SET_LIMITS = Object.entries(SERVER_GIVES_UP).map(([name, ms]) => `; SET LOCAL ${name} = ${ms}`);

export interface SessionOptions {
  readonly hasOwnSessions: boolean;
  /** Whether statements are prepared and kept by name. */
  readonly isPreparing: boolean;
}

export interface Session {
  /** Runs one statement, which is a transaction of its own. */
  single(connection: Connection, statement: Statement, params: Params): Promise<readonly Row[]>;
  transact<T>(connection: Connection, work: (tx: Runner) => Promise<T>): Promise<T>;
}

export function createSession({ hasOwnSessions, isPreparing }: SessionOptions): Session {
  const begin = hasOwnSessions ? 'BEGIN' : `BEGIN${SET_LIMITS.join('')}`;

  const run = async (connection: Connection, statement: Statement, params: Params): Promise<readonly Row[]> => {
    const query = { text: statement.sql, values: statement.bind(params).map(toPostgres) };
    const { rows } = await connection.query(isPreparing ? { ...query, name: statement.name } : query);
    return rows.map(decodeRow);
  };

  const transact: Session['transact'] = async (connection, work) => {
    const begun = connection.query(begin); // not waited for: it goes out together with the first statement
    begun.catch(() => undefined);
    let result: Awaited<ReturnType<typeof work>>;
    try {
      result = await work({ all: (statement, params) => run(connection, statement, params) });
    } catch (error) {
      await begun;
      if (!connection.isBroken) await connection.query('ROLLBACK');
      throw error;
    }
    checkCommit(await connection.query('COMMIT'));
    return result;
  };

  const runAsTransaction: Session['single'] = async (connection, statement, params) => {
    const all = [connection.query(begin), run(connection, statement, params), connection.query('COMMIT')] as const;
    await Promise.allSettled(all); // the connection is nobody else's before the last answer is there
    const [, rows, committed] = await Promise.all(all);
    checkCommit(committed);
    return rows;
  };

  return { single: hasOwnSessions ? run : runAsTransaction, transact };
}

/** What the server answers to COMMIT after a statement that failed, if `work` did not mind, is something else. */
function checkCommit({ command }: QueryResult): void {
  if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
}
