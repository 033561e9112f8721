/** Faults of the machine: a full disk, a clock that jumps. */
import type { Fault } from './faults.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const JUMPS_MS = [-HOUR_MS, -30 * SECOND_MS, 30 * SECOND_MS, HOUR_MS, 24 * HOUR_MS] as const;

export const MACHINE_FAULTS: readonly Fault[] = [
  {
    name: 'full-disk',
    isPossible: ({ disk }) => disk !== undefined,
    async happen({ deployment, holdMs, wait }) {
      const pids = [deployment.launcher.pid, ...(await deployment.serverPids())];
      deployment.disk?.fill(pids);
      await wait(holdMs).finally(() => deployment.disk?.free(pids));
      return { what: `the disk was full for ${holdMs} ms`, touches: ['storage'] };
    },
  },
  {
    name: 'clock-jump',
    async happen({ deployment, random, holdMs, wait }) {
      const server = random.int(0, deployment.servers - 1);
      const offsetMs = random.pick(JUMPS_MS);
      await deployment.setClock(server, offsetMs);
      await wait(holdMs).finally(() => deployment.rightClock(server));
      const what = `the clock of server ${server + 1} was ${offsetMs / SECOND_MS} s ahead for ${holdMs} ms`;
      return { what, touches: ['clock'] };
    },
  },
];
