/** Classifies PostgreSQL's errors by their SQLSTATE (PostgreSQL documentation, appendix A). */
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { ConfigError, ExpectedError } from '../config/config.ts';
import { NotUnique, StoreUnavailable } from './store-errors.ts';

const KINDS = {
  /** Of two transactions, one of which is rolled back and may be retried: serialization_failure, deadlock_detected. */
  conflict: /^(40001|40P01)$/,
  /** statement_timeout, lock_timeout, idle_in_transaction_session_timeout, transaction_timeout. */
  timeout: /^(57014|55P03|25P0[34])$/,
  /**
   * Connection exceptions; or the server accepts no work: it is stopping, starting, or a standby, or refuses the login
   * of PgBouncer, which a query learns. An error without a code is pg's own: the response is not of the protocol.
   */
  away: /^(08...|28...|3D000|55000|57P01|57P02|57P03|57P05|)$/,
  /** The server works but lacks disk space, memory or connections. */
  noResources: /^53/,
  /** The session may not write; or its prepared statements are gone, are others, or return another type now. */
  stale: /^(25006|26000|42P05|0A000)$/,
  /** The server refuses a connection because all of its connections are in use. */
  outOfConnections: /^53300$/,
};

/** What helps when PostgreSQL refuses what a start does. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  '42501': 'let the owner of the tables, who may create some in this schema, run "npm run migrate"',
  '3F000': "create the schema that the user's search_path names",
  '22P05': "create the database with ENCODING 'UTF8'",
};

/** Returns what storage throws for an error of pg. One that is not of the server is of the connection. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof DatabaseError && error.code === '23505')
    return new NotUnique(messageOf(error), { cause: error });
  const kinds = ['conflict', 'timeout', 'noResources', 'stale'] as const;
  return kinds.some((kind) => is(kind, error)) || isAway(error) ? unavailable(error) : error;
}

/** Returns the error of a start, whose message is one line: without the SQL that knex puts before it. */
export function toStartError(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return isOfConnection(error) ? toStoreError(error) : error;
  error.message = error.message.replace(/^.* - /s, '');
  const known = toStoreError(error);
  const wayOut = WAYS_OUT[error.code ?? ''] ?? "PostgreSQL's log has more";
  if (known instanceof StoreUnavailable) return known;
  return new ConfigError(`DATABASE_URL can't be used: ${error.message}: ${wayOut}`);
}

/** Whether a connection could not be opened or has broken. Any other error is a fault of ours, and keeps its stack. */
function isOfConnection(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof ExpectedError) return false;
  return 'code' in error || /connection|timeout/i.test(error.message);
}

/** Returns the error that storage throws when no connection can be opened. */
export const unavailable = (error: unknown) => new StoreUnavailable(messageOf(error), { cause: error });

/** Whether the server's error is of this kind, or that which a StoreUnavailable was thrown for. */
export function is(kind: keyof typeof KINDS, error: unknown): boolean {
  const cause = error instanceof StoreUnavailable ? error.cause : error;
  return cause instanceof DatabaseError && KINDS[kind].test(cause.code ?? '');
}

/** Whether the error means that the database is unavailable, rather than slow or busy. */
export const isAway = (error: unknown) => !(error instanceof DatabaseError) || is('away', error);

/** How often a transaction runs at most, and the base of the exponential backoff between runs. */
const MAX_RUNS = 6;
const BACKOFF_MS = 5;

/** Runs a transaction, again after a conflict such as a deadlock, with exponential backoff and jitter. */
export async function retryConflicts<T>(run: () => Promise<T>): Promise<T> {
  for (let runs = 1; ; runs += 1) {
    try {
      return await run();
    } catch (error) {
      if (!is('conflict', error) || runs === MAX_RUNS) throw error;
      await delay(Math.random() * BACKOFF_MS * 2 ** runs);
    }
  }
}

/** Node combines the errors for each address of a host in an AggregateError without a message. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return messageOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
