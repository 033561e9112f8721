/** What PostgreSQL's errors mean, by their SQLSTATE (PostgreSQL documentation, appendix A). */
import { DatabaseError } from 'pg';
import { StoreUnavailable } from './store-errors.ts';

/** Two transactions got in each other's way: serialization_failure, deadlock_detected. */
const CONFLICTS = new Set(['40001', '40P01']);

/** The server took too long, or was held up by others: statement_timeout, lock_timeout, an idle transaction's end. */
const TIMEOUTS = new Set(['57014', '55P03', '25P03']);

/** The server is there and takes no work: it is stopping, starting, or a standby. */
const AWAY = new Set(['57P01', '57P02', '57P03', '57P05', '25006']);
/** Connection exceptions. */
const AWAY_CLASS = '08';

/** The server lives and lacks something: room on the disk, memory, connections. */
const SHORT_CLASS = '53';
const OUT_OF_CONNECTIONS = new Set(['53300']);

/**
 * What storage throws for an error of pg's. One that does not come from the server itself comes from the connection:
 * it can't be had, it broke, or no answer came in time.
 */
export function toStoreError(error: unknown): unknown {
  const isBusy = hasCode(error, CONFLICTS) || isTimeout(error) || hasClass(error, SHORT_CLASS);
  const isUnavailable = isBusy || isAway(error);
  return isUnavailable ? unavailable(error) : error;
}

/** What storage throws when a connection can't be had, for whatever reason. */
export function unavailable(error: unknown): StoreUnavailable {
  return new StoreUnavailable(messageOf(error), { cause: error });
}

/** Whether the work was undone because others were in its way: the same may succeed when it is run anew. */
export function isConflict(error: unknown): boolean {
  return error instanceof StoreUnavailable && hasCode(error.cause, CONFLICTS);
}

/** Whether an error of pg's says that something took the server too long. */
export function isTimeout(error: unknown): boolean {
  return hasCode(error, TIMEOUTS);
}

/** Whether an error of pg's says that the database is away, rather than slow or busy. */
export function isAway(error: unknown): boolean {
  return !(error instanceof DatabaseError) || hasCode(error, AWAY) || hasClass(error, AWAY_CLASS);
}

/** Whether the server refused a connection because all that it has are in use. */
export function isOutOfConnections(error: unknown): boolean {
  return hasCode(error, OUT_OF_CONNECTIONS);
}

function hasCode(error: unknown, codes: ReadonlySet<string>): boolean {
  return error instanceof DatabaseError && codes.has(error.code ?? '');
}

function hasClass(error: unknown, first: string): boolean {
  return error instanceof DatabaseError && (error.code ?? '').startsWith(first);
}

/** Node makes one error of the attempts to connect to each address of a host, without a message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return messageOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
