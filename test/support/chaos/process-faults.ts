/** Faults of the service's processes: they end, freeze, or are replaced. */
import { isRunning } from '../launcher.ts';
import { signal } from './deployment.ts';
import type { Fault, Moment } from './faults.ts';

/** Undefined while none is running. */
async function anyServer({ deployment, random }: Moment): Promise<number | undefined> {
  return random.pickAny((await deployment.serverPids()).toSorted((one, other) => one - other));
}

export const PROCESS_FAULTS: readonly Fault[] = [
  {
    name: 'kill-server',
    async happen(moment) {
      const pid = await anyServer(moment);
      if (pid !== undefined) signal(pid, 'SIGKILL');
      return { what: 'kill -9 of a server', touches: ['server'] };
    },
  },
  {
    name: 'freeze-server',
    async happen(moment) {
      const pid = await anyServer(moment);
      if (pid === undefined) return { what: 'there was no server to freeze', touches: [] };
      signal(pid, 'SIGSTOP');
      await moment.wait(moment.holdMs).finally(() => signal(pid, 'SIGCONT'));
      const isReplaced = !isRunning({ pid });
      const what = `a server stood still for ${moment.holdMs} ms${isReplaced ? ' and was replaced' : ''}`;
      return { what, touches: isReplaced ? ['server'] : [] };
    },
  },
  {
    name: 'kill-envoy',
    async happen({ deployment }) {
      const pid = await deployment.envoyPid();
      if (pid !== undefined) signal(pid, 'SIGKILL');
      return { what: 'kill -9 of Envoy', touches: [] };
    },
  },
  {
    name: 'kill-launcher',
    async happen({ deployment }) {
      await deployment.killLauncher();
      return { what: 'kill -9 of the launcher, which was started again', touches: ['server'] };
    },
  },
  {
    name: 'rolling-restart',
    isPossible: ({ servers }) => servers > 1,
    async happen({ deployment, holdMs, wait }) {
      deployment.launcher.process.kill('SIGUSR2');
      await wait(holdMs);
      return { what: 'SIGUSR2 of the launcher', touches: ['server'] };
    },
  },
];
