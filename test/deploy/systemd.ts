/** systemd as process 1 in namespaces of its own: see systemd-boot.sh. It needs root. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { missing } from '../support/machine/find-program.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { noNamespaces } from '../support/machine/namespaces.ts';
import { childrenOf } from '../support/service/launcher.ts';
import { Program } from '../support/service/process.ts';
import { until } from '../support/until.ts';

const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child', '--uts', '--ipc', '--net', '--cgroup'];

/** What is missing, for `testUnless`. */
export const systemdMissing = missing('systemctl', 'systemd') ?? noNamespaces;

/** Boots it until the teardown. */
export async function bootSystemd(t: Pick<ExecutionContext, 'teardown'>) {
  const args = [...NAMESPACES, 'sh', join(import.meta.dirname, 'systemd-boot.sh'), temporaryFolder(t), ROOT];
  const outside = new Program('unshare', args);
  t.teardown(() => outside.end('SIGKILL'));
  /** Runs commands beside systemd, in /opt/petstore. Resolves with their output; rejects if one fails. */
  const run = async (commands: string): Promise<string> => {
    const [inside] = await childrenOf(outside.pid);
    const enter = ['--target', String(inside?.pid), '--all', 'sh', '-euc', `cd /opt/petstore; ${commands}`];
    return (await promisify(execFile)('nsenter', enter, { timeout: 60_000 })).stdout;
  };
  await until(() => run('systemctl is-system-running').catch(() => undefined), 'systemd');
  return { run };
}
