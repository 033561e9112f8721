/** A disk for a test to fill: a file system of a few MiB. It needs what `noNamespaces` tells of. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: 'ignore' });

export type SmallDisk = ReturnType<typeof mountSmallDisk>;

export function mountSmallDisk(mib = 12) {
  const path = mkdtempSync(join(tmpdir(), 'petstore-disk-'));
  const filler = join(path, 'filler');
  run('mount', '-t', 'tmpfs', '-o', `size=${mib}m,mode=700`, 'petstore', path);
  return {
    path,
    fill() {
      for (let bytes = 1_048_576; bytes >= 1; bytes = Math.floor(bytes / 2)) {
        try {
          for (;;) appendFileSync(filler, Buffer.alloc(bytes));
        } catch {
          // Less than that is free.
        }
      }
    },
    /** Undoes `fill`. */
    free: () => rmSync(filler, { force: true }),
    remove() {
      run('umount', '--lazy', path);
      rmSync(path, { recursive: true, force: true });
    },
  };
}
