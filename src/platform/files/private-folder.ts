/**
 * Which folders and files may be trusted. The data folder, which holds keys, callers' data and logs, is restricted to
 * its owner: folders get mode 0700 and new files 0600, whatever the umask is.
 */
import { chmod, lstat, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError, TemporaryFailure } from '../config/config.ts';

/** The umask of processes that write to the data folder, and of their children. */
export const PRIVATE_UMASK = 0o077;

const FOLDER_MODE = 0o700;
/** The permissions of group and others. */
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

const ALONE = 'set DATA_DIR to a folder that this user alone can open';
const ALONE_TO_WRITE = 'name a folder that this user alone can change';
const REMOVE = 'remove it';

/** Creates the folder, or restricts it to the owner. @throws ConfigError */
export async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const before = await checkFolder(folder, ALONE);
  if (before & OTHERS) await chmod(folder, FOLDER_MODE);
  if ((await stat(folder)).mode & OTHERS) throw unusable(folder, 'is on a file system without permissions', ALONE);
  await checkContent(folder, (before & OTHERS_WRITE) !== 0);
}

/** Creates the folder, or checks that others can't change what is in it. They may read it. @throws ConfigError */
export async function makeTrusted(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const mode = await checkFolder(folder, ALONE_TO_WRITE);
  if (mode & OTHERS_WRITE) throw unusable(folder, 'can be changed by other users', ALONE_TO_WRITE);
  await checkContent(folder, false);
}

/** Resolves with the mode of a folder of this user. */
async function checkFolder(folder: string, advice: string): Promise<number> {
  const { uid, mode } = await stat(folder);
  if (uid !== process.geteuid?.()) throw unusable(folder, 'belongs to another user', advice);
  if (mode & STICKY) throw unusable(folder, 'is shared by several users', advice);
  return mode;
}

/**
 * Checks what is in a folder that only its owner can change by now. Before, another user may have left something that
 * would be believed, such as a key; written through, such as a link; or be readable for him. Root may do all of that
 * anyway. In a folder that `wasOpen`, a file may also be a link to another one, or have been changed by others.
 */
async function checkContent(folder: string, wasOpen: boolean): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const found = await lstat(file).catch(() => undefined);
    if (found === undefined) continue; // it has just been removed
    if (found.uid !== process.geteuid?.() && found.uid !== 0) throw unusable(file, 'belongs to another user', REMOVE);
    if (!wasOpen || !found.isFile()) continue;
    if (found.nlink > 1) throw unusable(file, 'is a file of another folder too', REMOVE);
    if (found.mode & OTHERS_WRITE) throw unusable(file, 'could be changed by other users', REMOVE);
  }
}

/** Node's error codes for a full disk, an exhausted quota, and the maximum file size. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

export function isDiskFull(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && FULL.has(String(error.code));
}

export function diskFull(folder: string, cause: Error): TemporaryFailure {
  const wayOut = 'make room there, or set DATA_DIR to a folder on another disk';
  return new TemporaryFailure(`there is no room to write in ${folder} (${cause.message}): ${wayOut}`, { cause });
}

const unusable = (path: string, why: string, advice: string) => new ConfigError(`${path} ${why}: ${advice}`);
