/**
 * A rolling restart: one server after the other ends and is followed by a new one, and no request is lost.
 *
 * A server that goes first tells Envoy's health check that it takes no calls, while it still does. Envoy then sends
 * nothing new its way and closes each connection to it as the last call on it ends. Only when none is left does the
 * server have to end: a connection that it closed itself could meet a request that is on its way.
 *
 * When a new server does not come up, the restart ends there. The others go on as they are.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { DRAIN_MS } from './component.ts';
import type { Envoy, Host } from './envoy.ts';
import type { Instance } from './instance.ts';
import type { Instances } from './instances.ts';
import { capitalize, describeStartFailure, START_MS } from './supervisor.ts';

const POLL_MS = 50;
/** How long Envoy may take to see what its health check is told each second. */
const EXCLUDE_MS = 10_000;
/** Each of Envoy's threads closes its own connections: none must be left at so many looks in a row. */
const IDLE_POLLS = 3;

/** Resolves when all have been replaced, or one could not be, or the servers are to stop; what happens is said. */
export async function rollingRestart(
  instances: Instances,
  envoy: Envoy,
  report: (line: string) => void,
): Promise<void> {
  const { all, shutdown } = instances;
  try {
    for (const instance of all) {
      report(`Restarting ${instance.name} of ${all.length} …`);
      await waitUntilAllHealthy(instances, envoy); // none may be away but this one
      await instance.runExclusive(async () => {
        if (!(await drain(instance, envoy, shutdown))) {
          report(`${capitalize(instance.name)} still has open calls: they have ${DRAIN_MS / 1_000} seconds more.`);
        }
        await replace(instance);
      });
    }
    await waitUntilAllHealthy(instances, envoy);
    report(`Restarted all ${all.length} servers.`);
  } catch (error) {
    if (!shutdown.aborted)
      report(`${(error as Error).message}. The rolling restart ends here; the other servers go on.`);
  }
}

/** Lets Envoy take its requests elsewhere. Resolves with whether none is left: there are calls without an end. */
async function drain(instance: Instance, envoy: Envoy, shutdown: AbortSignal): Promise<boolean> {
  const look = () => envoy.host(instance.port);
  instance.startDraining();
  await until(look, ({ isExcluded }) => isExcluded, EXCLUDE_MS, shutdown);
  let idlePolls = 0;
  const isIdle = ({ connections }: Host) => {
    idlePolls = connections === 0 ? idlePolls + 1 : 0;
    return idlePolls === IDLE_POLLS;
  };
  return until(look, isIdle, DRAIN_MS, shutdown);
}

async function replace(instance: Instance): Promise<void> {
  try {
    await instance.replace(START_MS);
  } catch (error) {
    throw new Error(describeStartFailure(instance, error));
  }
}

async function waitUntilAllHealthy({ all, shutdown }: Instances, envoy: Envoy): Promise<void> {
  for (const { name, port } of all) {
    const look = () => envoy.host(port);
    if (!(await until(look, ({ isHealthy }) => isHealthy, START_MS, shutdown))) {
      throw new Error(`Envoy does not get through to ${name}`);
    }
  }
}

/** Resolves with whether the server came to be so in time. Rejects when `over` is aborted. */
async function until(
  look: () => Promise<Host | undefined>,
  condition: (host: Host) => boolean,
  withinMs: number,
  shutdown: AbortSignal,
): Promise<boolean> {
  const giveUpAtMs = performance.now() + withinMs;
  for (;;) {
    const host = await look();
    if (host !== undefined && condition(host)) return true;
    if (performance.now() > giveUpAtMs) return false;
    await delay(POLL_MS, undefined, { signal: shutdown });
  }
}
