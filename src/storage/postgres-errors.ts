/** Classifies PostgreSQL's errors by their SQLSTATE (PostgreSQL documentation, appendix A). */
import { DatabaseError } from 'pg';
import { ConfigError } from '../config/config.ts';
import { StoreUnavailable } from './store-errors.ts';

/** Conflicts of two transactions: serialization_failure, deadlock_detected. */
const CONFLICT = /^(40001|40P01)$/;

/** statement_timeout, lock_timeout, idle_in_transaction_session_timeout, transaction_timeout. */
const TIMEOUT = /^(57014|55P03|25P0[34])$/;

/** Connection exceptions; or the server accepts no work: it is stopping, starting, or a standby. */
const AWAY = /^(08...|57P01|57P02|57P03|57P05|25006)$/;

/** The server works but lacks disk space, memory or connections. */
const NO_RESOURCES = /^53/;
const OUT_OF_CONNECTIONS = /^53300$/;

/** What helps when PostgreSQL refuses what a start does. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  '42501': 'let the owner of the tables, who may create some in this schema, run "npm run migrate"',
  '3F000': "create the schema that the user's search_path names",
  '22P05': "create the database with ENCODING 'UTF8'",
};

/**
 * Returns the error that storage throws for an error of pg. An error that does not come from the server comes from the
 * connection: it could not be opened, it broke, or no response arrived in time.
 */
export function toStoreError(error: unknown): unknown {
  const isBusy = [CONFLICT, TIMEOUT, NO_RESOURCES].some((codes) => hasCode(error, codes));
  return isBusy || isAway(error) ? unavailable(error) : error;
}

/** Returns the error of a start, whose message is one line: without the SQL that knex puts before it. */
export function toStartError(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error;
  error.message = error.message.replace(/^.* - /s, '');
  const known = toStoreError(error);
  const wayOut = WAYS_OUT[error.code ?? ''] ?? "PostgreSQL's log has more";
  return known === error ? new ConfigError(`DATABASE_URL can't be used: ${error.message}: ${wayOut}`) : known;
}

/** Returns the error that storage throws when no connection can be opened. */
export function unavailable(error: unknown): StoreUnavailable {
  return new StoreUnavailable(messageOf(error), { cause: error });
}

/** Whether the transaction was rolled back because of a conflict with another one, and may succeed when retried. */
export function isConflict(error: unknown): boolean {
  return error instanceof StoreUnavailable && hasCode(error.cause, CONFLICT);
}

/** Whether one of the server's timeouts caused the error. */
export function isTimeout(error: unknown): boolean {
  return hasCode(error, TIMEOUT);
}

/** Whether the error means that the database is unavailable, rather than slow or busy. */
export function isAway(error: unknown): boolean {
  return !(error instanceof DatabaseError) || hasCode(error, AWAY);
}

/** Whether the server refused a connection because all of its connections are in use. */
export function isOutOfConnections(error: unknown): boolean {
  return hasCode(error, OUT_OF_CONNECTIONS);
}

function hasCode(error: unknown, codes: RegExp): boolean {
  return error instanceof DatabaseError && codes.test(error.code ?? '');
}

/** Node combines the errors for each address of a host in an AggregateError without a message. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return messageOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
