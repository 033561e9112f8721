/**
 * A rolling restart: replaces one server after the other without losing a request.
 *
 * A draining server fails Envoy's health checks while it still accepts calls. Envoy then sends it no new calls, and
 * closes each connection to it after the last call. The server is stopped when no connection is left: if it closed a
 * connection itself, a request could be on the way.
 *
 * If a new server does not start, the restart ends there, and the other servers keep running.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { DRAIN_MS } from './component.ts';
import type { Envoy, Host } from './envoy.ts';
import type { Instance } from './instance.ts';
import { capitalize, describeStartFailure, START_MS, type Supervision } from './supervisor.ts';

const POLL_MS = 50;
/** How long Envoy may take to exclude a server. Its health checks run every second. */
const EXCLUDE_MS = 10_000;
/** How many polls in a row must find no connection: each of Envoy's threads closes its own. */
const IDLE_POLLS = 3;

/** Resolves when all servers have been replaced, when one could not be, or on shutdown. Reports its progress. */
export async function rollingRestart(
  servers: readonly Instance[],
  envoy: Envoy,
  { shutdown, report }: Pick<Supervision, 'shutdown' | 'report'>,
): Promise<void> {
  try {
    for (const server of servers) {
      report(`Restarting ${server.name} of ${servers.length} …`);
      await waitUntilAllHealthy(servers, envoy, shutdown); // only this server may be unavailable
      await server.runExclusive(async () => {
        if (!(await drain(server, envoy, shutdown))) {
          report(`${capitalize(server.name)} still has open calls: they have ${DRAIN_MS / 1_000} seconds more.`);
        }
        await replace(server);
      });
    }
    await waitUntilAllHealthy(servers, envoy, shutdown);
    report(`Restarted all ${servers.length} servers.`);
  } catch (error) {
    if (!shutdown.aborted)
      report(`${(error as Error).message}. The rolling restart ends here; the other servers go on.`);
  }
}

/** Drains a server. Resolves with false if calls are still open after the drain time: some never end. */
async function drain(instance: Instance, envoy: Envoy, shutdown: AbortSignal): Promise<boolean> {
  const getHost = () => envoy.host(instance.port);
  instance.startDraining();
  await waitFor(getHost, ({ isExcluded }) => isExcluded, EXCLUDE_MS, shutdown);
  let idlePolls = 0;
  const isIdle = ({ connections }: Host) => {
    idlePolls = connections === 0 ? idlePolls + 1 : 0;
    return idlePolls === IDLE_POLLS;
  };
  return waitFor(getHost, isIdle, DRAIN_MS, shutdown);
}

async function replace(instance: Instance): Promise<void> {
  try {
    await instance.replace(START_MS);
  } catch (error) {
    throw new Error(describeStartFailure(instance, error));
  }
}

async function waitUntilAllHealthy(servers: readonly Instance[], envoy: Envoy, shutdown: AbortSignal): Promise<void> {
  for (const { name, port } of servers) {
    const getHost = () => envoy.host(port);
    if (!(await waitFor(getHost, ({ isHealthy }) => isHealthy, START_MS, shutdown))) {
      throw new Error(`Envoy can't reach ${name}`);
    }
  }
}

/** Resolves with whether the server met the condition in time. Rejects on shutdown. */
async function waitFor(
  getHost: () => Promise<Host | undefined>,
  condition: (host: Host) => boolean,
  withinMs: number,
  shutdown: AbortSignal,
): Promise<boolean> {
  const giveUpAtMs = performance.now() + withinMs;
  for (;;) {
    const host = await getHost();
    if (host !== undefined && condition(host)) return true;
    if (performance.now() > giveUpAtMs) return false;
    await delay(POLL_MS, undefined, { signal: shutdown });
  }
}
