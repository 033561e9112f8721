/** What SQLite's errors mean, by their result code (https://sqlite.org/rescode.html). */
import { StoreUnavailable } from './errors.ts';

/** The disk is full, or it fails. */
const AWAY = new Set(['SQLITE_FULL', 'SQLITE_IOERR']);

/** What storage throws for an error of sqlite3's. */
export function toStoreError(error: unknown): unknown {
  return isAway(error) ? new StoreUnavailable(error.message, { cause: error }) : error;
}

function isAway(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && AWAY.has(String(error.code));
}
