/**
 * Restores a SQLite file. The copy is made and checked beside the database, and put in its place by one rename: a kill
 * at any moment leaves the old database or the new one. While there is no database yet, the unfinished copy keeps a
 * start from making an empty one (`findSqlite` in src/platform/process/database.ts).
 */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DATABASE_FILE } from '../src/identity.ts';
import { ConfigError } from '../src/platform/config/config.ts';
import { SKIP_ON_SQLITE } from '../src/platform/events/migrations/009-events.ts';
import { unfinishedRestore } from '../src/platform/files/unfinished-restore.ts';
import { checkSqlite, copySqlite } from './check-sqlite.ts';
import { listRevived } from './restored-data.ts';

/** SQLite's files beside a database. The latest writes may be in them. */
const BESIDE = ['-wal', '-shm', '-journal'];
/** SQLite's result codes: another process uses the file; it is damaged; it is no database. */
const [BUSY, CORRUPT, NOT_A_DATABASE] = [5, 11, 26];

export interface Restored {
  /** Where the data from before is; undefined if there was none. */
  readonly kept: string | undefined;
  /** What is valid again though it was revoked since the backup, a line each; undefined if that can't be known. */
  readonly revived: readonly string[] | undefined;
}

/** `time` becomes part of the name of what is kept. Throws ConfigError when the backup or the place can't be used. */
export function restoreSqlite(dataDir: string, backup: string, time: string): Restored {
  const file = join(dataDir, DATABASE_FILE);
  const next = unfinishedRestore(file);
  const wasKilled = existsSync(next); // the restore before this one: a refused one leaves its file
  if (wasKilled) truncateSync(next);
  for (const end of BESIDE) rmSync(next + end, { force: true });
  try {
    copySqlite(backup, next);
    sync(next);
    checkSqlite(next, backup);
    skipEventIds(next);
    sync(next);
    const isWhole = settle(file);
    const revived = existsSync(file) && isWhole ? compare(next, file) : undefined;
    const kept = existsSync(file) ? keep(dataDir, join(dataDir, `before-restore-${time}`)) : undefined;
    for (const end of BESIDE) rmSync(file + end, { force: true }); // they belong to the file from before
    placeKey(dataDir, backup);
    renameSync(next, file);
    sync(dataDir);
    return { kept, revived: kept === undefined ? [] : revived };
  } catch (error) {
    if (!wasKilled) rmSync(next, { force: true });
    throw error;
  }
}

/** Readers may have seen events that the backup lacks. In one of a release without histories the next start does it. */
function skipEventIds(file: string): void {
  const database = new DatabaseSync(file);
  try {
    const has = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'event_histories'").get();
    if (has !== undefined) database.exec(`BEGIN; ${SKIP_ON_SQLITE.join('; ')}; COMMIT`);
  } finally {
    database.close();
  }
}

/** Gives a data folder without an operator's key the one of the backup. A key that is there stays. */
export function placeKey(dataDir: string, backup: string): void {
  const [from, to] = [backup.replace(/\.\w+$/, '.operator.key'), join(dataDir, 'operator.key')];
  if (existsSync(to) || !existsSync(from)) return;
  const next = unfinishedRestore(to);
  copyFileSync(from, next);
  sync(next);
  renameSync(next, to);
}

/** Lets SQLite move all writes into the file, as a stop of the service does. Returns false if the file is damaged. */
function settle(file: string): boolean {
  if (!existsSync(file)) return true;
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA journal_mode = DELETE');
    return true;
  } catch (error) {
    const { errcode, message } = error as { errcode?: number; message: string };
    if (errcode === CORRUPT || errcode === NOT_A_DATABASE) return false;
    if (errcode !== BUSY) throw new ConfigError(`${file} can't be put aside: ${message}`);
    throw new ConfigError(`another process uses ${file}: end it first`);
  } finally {
    database.close();
  }
}

/** Makes a folder of links: a whole data folder, which stays as it was. */
function keep(dataDir: string, folder: string): string {
  mkdirSync(folder);
  for (const name of [DATABASE_FILE, ...BESIDE.map((end) => DATABASE_FILE + end), 'operator.key']) {
    if (existsSync(join(dataDir, name))) linkSync(join(dataDir, name), join(folder, name));
  }
  sync(folder);
  return folder;
}

function compare(restored: string, before: string): readonly string[] | undefined {
  const database = new DatabaseSync(restored, { readOnly: true });
  try {
    database.prepare('ATTACH ? AS kept').run(before);
    return listRevived('kept').flatMap((sql) =>
      database
        .prepare(sql)
        .all()
        .map(({ line }) => String(line)),
    );
  } catch {
    return undefined; // of another schema, or damaged
  } finally {
    database.close();
  }
}

/** Makes a file durable, or the names in a folder. */
export function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
