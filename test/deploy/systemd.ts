/** systemd as process 1 in namespaces of its own: see systemd-boot.sh. It needs root. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { missing } from '../support/machine/find-program.ts';
import { noNamespaces } from '../support/machine/namespaces.ts';
import { childrenOf } from '../support/service/launcher.ts';
import { until } from '../support/until.ts';

const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child', '--uts', '--ipc', '--net', '--cgroup'];

/** What is missing, for `testUnless`. */
export const systemdMissing = missing('systemctl', 'systemd') ?? noNamespaces;

export async function bootSystemd() {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-systemd-'));
  const args = [...NAMESPACES, 'sh', join(import.meta.dirname, 'systemd-boot.sh'), folder, ROOT];
  const outside = spawn('unshare', args, { stdio: 'ignore' });
  const ended = once(outside, 'exit');
  /** Runs commands beside systemd, in /opt/petstore. Resolves with their output; rejects if one fails. */
  const run = async (commands: string): Promise<string> => {
    const [inside] = await childrenOf(outside.pid ?? 0);
    const enter = ['--target', String(inside?.pid), '--all', 'sh', '-euc', `cd /opt/petstore; ${commands}`];
    return (await promisify(execFile)('nsenter', enter, { timeout: 60_000 })).stdout;
  };
  const close = async () => {
    outside.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await until(() => run('systemctl is-system-running').catch(() => undefined), 'systemd');
  } catch (error) {
    await close();
    throw error;
  }
  return { run, close };
}
