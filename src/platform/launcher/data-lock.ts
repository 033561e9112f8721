/**
 * The lock of a data folder, which one service can use at a time. The launcher holds an SQLite lock on a file in it: an
 * `fcntl` lock, which the operating system releases when the process ends for any reason. A pid file alone is not
 * enough, as another process may have got the pid.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigError } from '../config/config.ts';

/** SQLite's result code when another process holds the lock. */
const BUSY = 5;

export interface DataLock {
  /** Whether the previous service was killed. Its processes may still be ending. */
  readonly isStale: boolean;
  release(): void;
}

/** Locks the folder. Throws ConfigError with the other's pid when another service uses it. */
export function lockDataFolder(folder: string): DataLock {
  const pidFile = join(folder, 'service.pid');
  const lock = new DatabaseSync(join(folder, 'service.lock'));
  let isStale: boolean;
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE'); // writes nothing
    isStale = readPid(pidFile) !== undefined;
    writeFileSync(pidFile, `${process.pid}\n`);
  } catch (error) {
    lock.close();
    throw (error as { errcode?: number }).errcode === BUSY ? folderInUse(folder, readPid(pidFile)) : error;
  }
  return {
    isStale,
    release() {
      rmSync(pidFile, { force: true });
      lock.close();
    },
  };
}

function readPid(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

function folderInUse(folder: string, pid: string | undefined): ConfigError {
  const [other, command] = pid === undefined ? ['', ''] : [`, process ${pid}`, ` (kill ${pid})`];
  const advice = `stop that one${command}, or set DATA_DIR to another folder`;
  return new ConfigError(`${folder} is in use by another service${other}: ${advice}`);
}
