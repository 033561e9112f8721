/** A disk for a test to fill: a file system of a few MiB. It needs what `noNamespaces` tells of. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: 'ignore' });

export class SmallDisk {
  readonly path = mkdtempSync(join(tmpdir(), 'petstore-disk-'));
  readonly #filler = join(this.path, 'filler');

  constructor(mib = 12) {
    run('mount', '-t', 'tmpfs', '-o', `size=${mib}m,mode=700`, 'petstore', this.path);
  }

  fill(): void {
    for (let bytes = 1_048_576; bytes >= 1; bytes = Math.floor(bytes / 2)) {
      try {
        for (;;) appendFileSync(this.#filler, Buffer.alloc(bytes));
      } catch {
        // Less than that is free.
      }
    }
  }

  /** Undoes `fill`. */
  free(): void {
    rmSync(this.#filler, { force: true });
  }

  remove(): void {
    run('umount', '--lazy', this.path);
    rmSync(this.path, { recursive: true, force: true });
  }
}
