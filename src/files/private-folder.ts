/**
 * Folders that are their owner's alone: the data folder holds keys, callers' data and logs. Folders are 0700 and files
 * 0600, whatever the umask was, and what an earlier release left open is closed.
 */
import { chmod, lstat, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../config.ts';

/** For the processes that write there, and those that they start. */
export const PRIVATE_UMASK = 0o077;

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** What anybody but the owner may do. */
const OTHERS = 0o077;
const STICKY = 0o1000;

/** The service's own files: what else is in the folder may be meant to be as it is. */
const OWN_FILES =
  /^(petstore\.sqlite(-.+)?|(demo|operator)\.key(\..+)?|envoy\.yaml|.+\.sds\..+|service\.(lock|pid)|.+\.log(\..+)?)$/;

/** Makes the folder, or closes it and the service's files in it to others. Throws ConfigError when it can't. */
export async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const { uid, mode } = await stat(folder);
  if (uid !== process.geteuid?.()) throw notOurs(folder, 'belongs to another user');
  if (mode & STICKY) throw notOurs(folder, 'is shared by several users');
  if (mode & OTHERS) await chmod(folder, FOLDER_MODE);
  if ((await stat(folder)).mode & OTHERS) throw notOurs(folder, 'is on a file system without permissions');
  for (const name of await readdir(folder)) if (OWN_FILES.test(name)) await closeFile(join(folder, name));
}

/** A link is left alone: what it leads to may be anything. */
async function closeFile(file: string): Promise<void> {
  try {
    const found = await lstat(file);
    if (found.isFile() && found.mode & OTHERS) await chmod(file, FILE_MODE);
  } catch (error) {
    // Another server may have removed it meanwhile: SQLite's second file comes and goes.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Codes of Node's for a disk without room: for anybody, for this user, or for this file. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

export function isDiskFull(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && FULL.has(String(error.code));
}

/** For a start that finds no room in the folder. */
export function diskFull(folder: string, cause: Error): ConfigError {
  const wayOut = 'make room there, or set DATA_DIR to a folder on another disk';
  return new ConfigError(`there is no room to write in ${folder} (${cause.message}): ${wayOut}`, { cause });
}

function notOurs(folder: string, why: string): ConfigError {
  return new ConfigError(`${folder} ${why}: set DATA_DIR to a folder that this user alone can open`);
}
