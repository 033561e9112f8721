/**
 * A rolling restart: replaces one server after the other without losing a request.
 *
 * A draining server fails Envoy's health checks while it still accepts calls. When Envoy has seen that, and sends it no
 * new ones, it is stopped as always: it ends its streams of events and completes its calls. Its supervisor starts the
 * next one.
 *
 * If a new server does not start, the restart ends there, and the other servers keep running.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { CLOSE_MS, DRAIN_MS, EDGES_KNOW_MS } from '../config/times.ts';
import type { Envoy } from './envoy.ts';
import type { Instance } from './instance.ts';
import { waitFor } from './repeat.ts';
import { START_MS, type Supervision } from './supervisor.ts';

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
      await delay(EDGES_KNOW_MS, undefined, { signal: shutdown });
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

/** Resolves when Envoy sends calls to all servers. Asks its admin interface: the public port may be closed to us. */
export async function waitUntilAllHealthy(
  servers: readonly Instance[],
  envoy: Envoy,
  shutdown: AbortSignal,
): Promise<void> {
  for (const { name, port } of servers) {
    if (!(await waitFor(() => envoy.isHealthy(port), START_MS, shutdown))) throw new Error(`Envoy can't reach ${name}`);
  }
}
