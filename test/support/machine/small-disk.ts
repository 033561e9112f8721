/**
 * A disk for a test to fill: a file system of a few MiB, where this process may mount one. Elsewhere (a container
 * without CAP_SYS_ADMIN) it is a folder, and a limit of the size of their files keeps processes from writing in it.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Less than the size of any file that matters, so that none of them can grow. */
const LIMIT_BYTES = 4_096;

export class SmallDisk {
  readonly path = mkdtempSync(join(tmpdir(), 'petstore-disk-'));
  readonly #isMounted: boolean;

  constructor(mib = 12) {
    this.#isMounted = run('mount', '-t', 'tmpfs', '-o', `size=${mib}m,mode=700`, 'petstore', this.path);
  }

  /** Whether it is full for all processes, not only for some. */
  get isForAll(): boolean {
    return this.#isMounted;
  }

  /** Fills the disk, for all processes, or for these and the ones that they start from now on. */
  fill(pids: readonly number[]): void {
    if (!this.#isMounted) limit(pids, String(LIMIT_BYTES));
    for (let bytes = this.#isMounted ? 1_048_576 : 0; bytes >= 1; bytes = Math.floor(bytes / 2)) {
      try {
        for (;;) appendFileSync(this.#filler, Buffer.alloc(bytes));
      } catch {
        // Less than that is free.
      }
    }
  }

  /** Undoes `fill`. */
  free(pids: readonly number[]): void {
    if (this.#isMounted) rmSync(this.#filler, { force: true });
    else limit(pids, 'unlimited');
  }

  remove(): void {
    if (this.#isMounted) run('umount', '--lazy', this.path);
    rmSync(this.path, { recursive: true, force: true });
  }

  get #filler(): string {
    return join(this.path, 'filler');
  }
}

/** The soft limit, which may be raised again. */
function limit(pids: readonly number[], bytes: string): void {
  for (const pid of pids) run('prlimit', '--pid', String(pid), `--fsize=${bytes}:`);
}

function run(command: string, ...args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
