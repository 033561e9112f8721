/**
 * A rolling restart: replaces one server after the other without losing a request.
 *
 * A draining server fails Envoy's health checks while it still accepts calls. Envoy then sends it no new calls, and
 * closes each connection to it after the last call, once its streams of events have been ended. The server is stopped
 * when no connection is left: if it closed a connection itself, a request could be on the way. Its supervisor starts
 * the next one.
 *
 * If a new server does not start, the restart ends there, and the other servers keep running.
 */
import { CLOSE_MS, DRAIN_MS } from '../config/times.ts';
import type { Child } from './child.ts';
import { capitalize } from './component.ts';
import type { Envoy, Host } from './envoy.ts';
import type { Instance } from './instance.ts';
import { waitFor } from './repeat.ts';
import { START_MS, type Supervision } from './supervisor.ts';

/** How long Envoy may take to exclude a server. Its health checks run twice a second. */
const EXCLUDE_MS = 10_000;
/** How long calls may be on their way that Envoy had routed before. */
const ROUTED_MS = 500;
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
      const child = server.startDraining();
      const getHost = () => envoy.host(server.port);
      await waitFor(async () => !child.isRunning || (await getHost())?.isExcluded, EXCLUDE_MS, shutdown);
      await waitFor(() => !child.isRunning, ROUTED_MS, shutdown);
      server.endEventStreams(child); // their readers go on at another server
      if (!(await isDrained(child, getHost, shutdown))) {
        report(`${capitalize(server.name)} still has open calls: they have ${DRAIN_MS / 1_000} seconds more.`);
      }
      await child.stop(DRAIN_MS + CLOSE_MS);
      // Its supervisor limits the time, but for a migration that goes on.
      await waitFor(() => server.isServing || server.startFailure !== undefined, Number.POSITIVE_INFINITY, shutdown);
      if (server.startFailure !== undefined) throw new Error(server.startFailure);
    }
    await waitUntilAllHealthy(servers, envoy, shutdown);
    report(`Restarted all ${servers.length} servers.`);
  } catch (error) {
    if (!shutdown.aborted)
      report(`${(error as Error).message}. The rolling restart ends here; the other servers go on.`);
  }
}

/** Resolves when Envoy has closed all connections; with false if some stay open longer than the drain time. */
async function isDrained(child: Child, getHost: () => Promise<Host | undefined>, shutdown: AbortSignal) {
  let idlePolls = 0;
  const isIdle = async () => {
    idlePolls = (await getHost())?.connections === 0 ? idlePolls + 1 : 0;
    return !child.isRunning || idlePolls === IDLE_POLLS;
  };
  return waitFor(isIdle, DRAIN_MS, shutdown);
}

/** Resolves when Envoy sends calls to all servers. Asks its admin interface: the public port may be closed to us. */
export async function waitUntilAllHealthy(
  servers: readonly Instance[],
  envoy: Envoy,
  shutdown: AbortSignal,
): Promise<void> {
  for (const { name, port } of servers) {
    const isHealthy = async () => (await envoy.host(port))?.isHealthy;
    if (!(await waitFor(isHealthy, START_MS, shutdown))) throw new Error(`Envoy can't reach ${name}`);
  }
}
