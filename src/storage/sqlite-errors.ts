/** What SQLite's errors mean, by their result code (https://sqlite.org/rescode.html). */
import { StoreUnavailable } from './store-errors.ts';

/** The disk is full, or it fails; another process keeps the file for too long. */
const AWAY = new Set(['SQLITE_FULL', 'SQLITE_IOERR', 'SQLITE_BUSY']);

/** Whether a store is unavailable because another process keeps its file. */
export function isKept({ cause }: StoreUnavailable): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'SQLITE_BUSY';
}

/** What storage throws for an error of sqlite3's. */
export function toStoreError(error: unknown): unknown {
  return isAway(error) ? new StoreUnavailable(error.message, { cause: error }) : error;
}

function isAway(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && AWAY.has(String(error.code));
}
