/** The faults of a chaos run. Each undoes itself before it resolves. */
import type { TcpProxy } from '../../support/machine/tcp-proxy.ts';
import { isRunning, signal } from '../../support/service/process.ts';
import type { Deployment, Proxied } from './deployment.ts';

export interface Moment {
  readonly deployment: Deployment;
  /** Which of several, as a whole number, and by how much something is slow. */
  readonly chosen: number;
  readonly slowMs: number;
  /** Waits, for as long as the fault lasts, then undoes it. Rejects when another fault could not be caused. */
  readonly hold: (undo?: () => unknown) => Promise<void>;
}

export interface Fault {
  readonly name: string;
  /** Causes the fault and undoes it. Resolves with what happened, in words. */
  readonly happen: (moment: Moment) => Promise<string>;
  /** What a deployment must have for it. */
  readonly needs: 'disk' | 'shared' | 'servers' | undefined;
}

const fault = (name: string, happen: Fault['happen']): Fault => ({ name, happen, needs: undefined });

/** Undefined while none is running. */
async function anyServer({ deployment, chosen }: Moment): Promise<number | undefined> {
  const pids = await deployment.serverPids();
  return pids.toSorted((one, other) => one - other)[chosen % pids.length];
}

/** Processes of the service end, freeze, or are replaced. */
const OF_PROCESSES: readonly Fault[] = [
  fault('kill-server', async (moment) => {
    const pid = await anyServer(moment);
    if (pid !== undefined) signal(pid, 'SIGKILL');
    return 'kill -9 of a server';
  }),
  fault('freeze-server', async (moment) => {
    const pid = await anyServer(moment);
    if (pid === undefined) return 'there was no server to freeze';
    signal(pid, 'SIGSTOP');
    await moment.hold(() => signal(pid, 'SIGCONT'));
    return `a server stood still${isRunning({ pid }) ? '' : ' and was replaced'}`;
  }),
  fault('kill-envoy', async ({ deployment }) => {
    const pid = await deployment.envoyPid();
    if (pid !== undefined) signal(pid, 'SIGKILL');
    return 'kill -9 of Envoy';
  }),
  fault('kill-launcher', async ({ deployment }) => {
    await deployment.killLauncher();
    return 'kill -9 of the launcher, which was started again';
  }),
  {
    name: 'rolling-restart',
    needs: 'servers',
    async happen({ deployment, hold }) {
      deployment.launcher.process.kill('SIGUSR2');
      await hold();
      return 'SIGUSR2 of the launcher';
    },
  },
];

/** A fault of PostgreSQL, Redis, or the connections to them. */
function ofData(name: string, happen: (shared: Proxied, moment: Moment) => Promise<string>): Fault {
  const onShared: Fault['happen'] = async (moment) => {
    const { shared } = moment.deployment;
    if (shared === undefined) throw new Error(`${name} needs PostgreSQL and Redis`);
    return happen(shared, moment);
  };
  return { name, happen: onShared, needs: 'shared' };
}

/** Faults of the connections to either. */
function ofNetwork(name: string, proxyOf: (shared: Proxied) => TcpProxy): Fault[] {
  const lasting = (how: string, begin: (proxy: TcpProxy, moment: Moment) => void) =>
    ofData(`${name}-${how}`, async (shared, moment) => {
      const proxy = proxyOf(shared);
      begin(proxy, moment);
      await moment.hold(() => proxy.restore());
      return `connections to ${name} were ${how}`;
    });
  return [
    ofData(`${name}-cut`, async (shared) => {
      proxyOf(shared).cut();
      return `all connections to ${name} were cut`;
    }),
    lasting('refused', (proxy) => proxy.refuse()),
    lasting('silent', (proxy) => proxy.silence()),
    lasting('slow', (proxy, { slowMs }) => proxy.slow(slowMs)),
  ];
}

const OF_DATA: readonly Fault[] = [
  {
    name: 'full-disk',
    needs: 'disk',
    async happen({ deployment, hold }) {
      deployment.disk?.fill();
      await hold(() => deployment.disk?.free());
      return 'the disk was full';
    },
  },
  ...ofNetwork('redis', ({ redisProxy }) => redisProxy),
  ofData('redis-emptied', async ({ redis }, { hold }) => {
    await redis.kill();
    await hold(() => redis.startAgain());
    return 'Redis was killed and came back empty';
  }),
  ...ofNetwork('postgres', ({ postgresProxy }) => postgresProxy),
  ofData('postgres-killed', async ({ postgres }, { hold }) => {
    await postgres.kill();
    await hold(() => postgres.start());
    return 'PostgreSQL was killed, and started again';
  }),
];

/** Faults of the same kind never overlap; faults of different kinds may. */
export const KINDS: readonly (readonly Fault[])[] = [OF_PROCESSES, OF_DATA];

export const FAULTS: readonly Fault[] = KINDS.flat();

export function isPossible({ needs }: Fault, { disk, shared, servers }: Deployment): boolean {
  const has = { disk: disk !== undefined, shared: shared !== undefined, servers: servers > 1 };
  return needs === undefined || has[needs];
}
