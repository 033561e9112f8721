/**
 * One service for each data folder. Its launcher holds a lock on a file in it, by SQLite: a lock of the operating system
 * (`fcntl`), which ends with its process, however that ends. A pid in a file could be another process's by now, and a
 * socket's file stays behind. For people there is the pid too, in `service.pid`.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigError } from '../config.ts';

/** SQLite's result code for a lock that another process has. */
const BUSY = 5;

export interface DataLock {
  /** Whether the service before was killed: its processes may be about to end. */
  readonly isStale: boolean;
  release(): void;
}

/** Throws ConfigError, with the other's process, when another service has the folder. */
export function lockDataFolder(folder: string): DataLock {
  const pidFile = join(folder, 'service.pid');
  const lock = new DatabaseSync(join(folder, 'service.lock'));
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE'); // nothing is written
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode !== BUSY) throw error;
    throw folderInUse(folder, readPid(pidFile));
  }
  const isStale = readPid(pidFile) !== undefined;
  try {
    writeFileSync(pidFile, `${process.pid}\n`);
  } catch (error) {
    lock.close();
    throw error;
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
  const wayOut = `stop that one${command}, or set DATA_DIR to another folder`;
  return new ConfigError(`${folder} is in use by another service${other}: ${wayOut}`);
}
