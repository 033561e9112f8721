/** Classifies SQLite's errors by their result code (https://sqlite.org/rescode.html). */
import { StoreUnavailable } from './store-errors.ts';

/** The disk is full or fails, or another process locks the file for too long. */
const UNAVAILABLE = new Set(['SQLITE_FULL', 'SQLITE_IOERR', 'SQLITE_BUSY']);

/** The file is damaged, or not readable and writable for this user. */
const UNUSABLE = new Set(['SQLITE_CORRUPT', 'SQLITE_NOTADB', 'SQLITE_CANTOPEN', 'SQLITE_READONLY']);

/** Whether the store is unavailable because another process has locked the file. */
export function isLockedByOther({ cause }: StoreUnavailable): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'SQLITE_BUSY';
}

/** Returns the error that storage throws for an error of sqlite3. */
export function toStoreError(error: unknown): unknown {
  return hasCode(error, UNAVAILABLE) ? new StoreUnavailable(error.message, { cause: error }) : error;
}

/** Whether the file itself can't be used: a retry would not help. */
export function isUnusable(error: unknown): error is Error {
  return hasCode(error, UNUSABLE);
}

function hasCode(error: unknown, codes: ReadonlySet<string>): error is Error {
  return error instanceof Error && 'code' in error && codes.has(String(error.code));
}
