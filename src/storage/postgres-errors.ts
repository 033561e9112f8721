/** What PostgreSQL's errors mean, by their SQLSTATE (PostgreSQL documentation, appendix A). */
import { DatabaseError } from 'pg';
import { StoreUnavailable } from './errors.ts';

/** Two transactions got in each other's way: serialization_failure, deadlock_detected. */
const CONFLICTS = new Set(['40001', '40P01']);

/** The server took too long, or was held up by others: statement_timeout, lock_timeout, an idle transaction's end. */
const TIMEOUTS = new Set(['57014', '55P03', '25P03']);

/** The server is there and takes no work: it is stopping, starting, or a standby. */
const AWAY = new Set(['57P01', '57P02', '57P03', '57P05', '25006']);
/** Connection exceptions, and insufficient resources. */
const AWAY_CLASSES = new Set(['08', '53']);

/**
 * What storage throws for an error of pg's. One that does not come from the server itself comes from the connection:
 * it can't be had, it broke, or no answer came in time.
 */
export function toStoreError(error: unknown): unknown {
  const isUnavailable = isAway(error) || hasCode(error, CONFLICTS) || hasCode(error, TIMEOUTS);
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

/** Whether an error of pg's says that the database is away, rather than slow or busy. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true;
  return hasCode(error, AWAY) || AWAY_CLASSES.has((error.code ?? '').slice(0, 2));
}

function hasCode(error: unknown, codes: ReadonlySet<string>): boolean {
  return error instanceof DatabaseError && codes.has(error.code ?? '');
}

/** Node makes one error of the attempts to connect to each address of a host, without a message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return messageOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
