/**
 * The lock of a data folder, which one service can use at a time: SQLite's lock of a file in it, which the operating
 * system releases when the process ends for any reason. `service.pid` is for people: another process may get the pid.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
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

/** Locks the folder. Throws ConfigError when another service uses it. */
export function lockDataFolder(folder: string): DataLock {
  const pidFile = join(folder, 'service.pid');
  const lock = new DatabaseSync(join(folder, 'service.lock'));
  let isStale: boolean;
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE'); // writes nothing
    isStale = existsSync(pidFile);
    writeFileSync(pidFile, `${process.pid}\n`);
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode !== BUSY) throw error;
    const advice = `stop that one, whose process ${pidFile} names, or set DATA_DIR to another folder`;
    throw new ConfigError(`${folder} is in use by another service: ${advice}`);
  }
  return {
    isStale,
    release() {
      rmSync(pidFile, { force: true });
      lock.close();
    },
  };
}
