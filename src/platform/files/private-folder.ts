/**
 * Restricts the data folder, which holds keys, callers' data and logs, to its owner. Folders get mode 0700 and new
 * files 0600, whatever the umask is.
 */
import { chmod, mkdir, stat } from 'node:fs/promises';
import { ConfigError, TemporaryFailure } from '../config/config.ts';

/** The umask of processes that write to the data folder, and of their children. */
export const PRIVATE_UMASK = 0o077;

const FOLDER_MODE = 0o700;
/** The permissions of group and others. */
const OTHERS = 0o077;
const STICKY = 0o1000;

/** Creates the folder, or restricts it to the owner. @throws ConfigError */
export async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const { uid, mode } = await stat(folder);
  if (uid !== process.geteuid?.()) throw unusable(folder, 'belongs to another user');
  if (mode & STICKY) throw unusable(folder, 'is shared by several users');
  if (mode & OTHERS) await chmod(folder, FOLDER_MODE);
  if ((await stat(folder)).mode & OTHERS) throw unusable(folder, 'is on a file system without permissions');
}

/** Node's error codes for a full disk, an exhausted quota, and the maximum file size. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

export function isDiskFull(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && FULL.has(String(error.code));
}

/** The error for a start with a full disk. */
export function diskFull(folder: string, cause: Error): TemporaryFailure {
  const wayOut = 'make room there, or set DATA_DIR to a folder on another disk';
  return new TemporaryFailure(`there is no room to write in ${folder} (${cause.message}): ${wayOut}`, { cause });
}

function unusable(folder: string, why: string): ConfigError {
  return new ConfigError(`${folder} ${why}: set DATA_DIR to a folder that this user alone can open`);
}
