/** Namespaces and mounts, which need root; a container may forbid them even then. */
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** What `unshare` needs for all of them. */
export const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child', '--uts', '--ipc', '--net', '--cgroup'];
const { status } = spawnSync('unshare', [...NAMESPACES, 'mount', '--make-rprivate', '/']);

export const noNamespaces =
  status === 0 ? undefined : 'NAMESPACES ARE NOT PERMITTED, so what needs them is not tested: it needs root';

const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: 'ignore' });

/**
 * Loses all that is sent to an address of 127.0.0.0/8, as to a host without power. Returns what ends that.
 */
export function loseAllTo(address: string): () => void {
  const route = (what: string) => run('ip', 'route', what, 'blackhole', `${address}/32`, 'table', 'local');
  route('add');
  return () => route('del');
}

export type SmallDisk = ReturnType<typeof mountSmallDisk>;

/** A disk for a test to fill: a file system of a few MiB. */
export function mountSmallDisk(mib = 12) {
  const path = mkdtempSync(`${tmpdir()}/petstore-disk-`);
  const filler = `${path}/filler`;
  run('mount', '-t', 'tmpfs', '-o', `size=${mib}m,mode=700`, 'petstore', path);
  return {
    path,
    fill(room = 0) {
      for (let bytes = 1_048_576; bytes >= 1; bytes = Math.floor(bytes / 2)) {
        try {
          for (;;) appendFileSync(filler, Buffer.alloc(bytes));
        } catch {
          // Less than that is free.
        }
      }
      if (room > 0) truncateSync(filler, statSync(filler).size - room);
    },
    free: () => rmSync(filler, { force: true }),
    remove() {
      run('umount', '--lazy', path);
      rmSync(path, { recursive: true, force: true });
    },
  };
}
