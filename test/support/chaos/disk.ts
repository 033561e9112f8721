/** A small disk for a data folder, which can be filled to the last byte. Mounting it needs root and Linux. */
import { execFile } from 'node:child_process';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SIZE_MIB = 512;
const CHUNK = Buffer.alloc(1_024 * 1_024);
const SMALLEST_BYTES = 512;

const run = promisify(execFile);

export interface SmallDisk {
  /** Fills the disk. */
  fill(): Promise<void>;
  /** Frees the space again. */
  free(): Promise<void>;
  unmount(): Promise<void>;
}

/** Creates `path` and mounts a disk there. Resolves with undefined where that is not possible. */
export async function mountSmallDisk(path: string): Promise<SmallDisk | undefined> {
  await mkdir(path, { recursive: true });
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MIB}m,mode=0700`, 'tmpfs', path]);
  } catch {
    return undefined;
  }
  const filler = join(path, 'filler');
  return {
    fill: () => fill(filler),
    free: () => rm(filler, { force: true }),
    async unmount() {
      await run('umount', ['--lazy', path]);
    },
  };
}

async function fill(path: string): Promise<void> {
  const file = await open(path, 'a');
  try {
    for (let bytes = CHUNK.length; bytes >= SMALLEST_BYTES; ) {
      const isFull = await file.write(CHUNK, 0, bytes).then(
        ({ bytesWritten }) => bytesWritten < bytes,
        () => true,
      );
      if (isFull) bytes /= 2;
    }
  } finally {
    await file.close();
  }
}
