/** The service's own processes end, stand still, or are replaced. */
import { signal } from './deployment.ts';
import type { Fault, Moment } from './faults.ts';

/** Undefined while none is running. */
async function anyServer({ deployment, random }: Moment): Promise<number | undefined> {
  return random.pickAny((await deployment.serverPids()).toSorted((one, other) => one - other));
}

export const PROCESS_FAULTS: readonly Fault[] = [
  {
    name: 'kill-server',
    touches: ['server'],
    async happen(moment) {
      const pid = await anyServer(moment);
      if (pid !== undefined) signal(pid, 'SIGKILL');
      return 'kill -9 of a server';
    },
  },
  {
    name: 'freeze-server',
    touches: ['server'],
    async happen(moment) {
      const pid = await anyServer(moment);
      if (pid === undefined) return 'there was no server to freeze';
      signal(pid, 'SIGSTOP');
      await moment.wait(moment.holdMs).finally(() => signal(pid, 'SIGCONT'));
      return `a server stood still for ${moment.holdMs} ms`;
    },
  },
  {
    name: 'kill-envoy',
    touches: [],
    async happen({ deployment }) {
      const pid = await deployment.envoyPid();
      if (pid !== undefined) signal(pid, 'SIGKILL');
      return 'kill -9 of Envoy';
    },
  },
  {
    name: 'kill-launcher',
    touches: ['server'],
    async happen({ deployment }) {
      await deployment.killLauncher();
      return 'kill -9 of the launcher, which was started again';
    },
  },
  {
    name: 'rolling-restart',
    touches: ['server'],
    missing: ({ servers }) => (servers < 2 ? '' : undefined),
    async happen({ deployment, holdMs, wait }) {
      deployment.launcher.process.kill('SIGHUP');
      await wait(holdMs);
      return 'SIGHUP of the launcher';
    },
  },
];
