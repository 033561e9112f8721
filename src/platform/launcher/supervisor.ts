/**
 * Keeps a component running. Restarts a process that ends, with exponential backoff, and kills one that does not
 * respond. A process that has served is restarted however often it ends: what ends it may be a request that somebody
 * repeats, and the next one serves all others meanwhile.
 *
 * Too many starts in a row that fail end the service, unless other components do the same work. Temporary failures (the
 * disk is full, the database is unavailable) don't count.
 */
import { ExpectedError, TemporaryFailure } from '../config/config.ts';
import { type Child, ChildExited } from './child.ts';
import { type Component, capitalize } from './component.ts';
import { pause } from './repeat.ts';

/** How long a restarted process may take until it serves. */
export const START_MS = 60_000;
const MIN_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 5_000;
/** A process that ran this long resets the backoff. */
const STABLE_AFTER_MS = 10_000;
/** How many failed starts in a row end the service. */
const MAX_FAILURES = 5;
const PING_INTERVAL_MS = 1_000;
/** After this much instead, the launcher itself is late. */
const LATE_MS = 1_100;
/** Some slow turns of the launcher's event loop: it hears a response after about five. */
const PING_TIMEOUT_MS = 10_000;

export interface Supervision {
  /** Aborted when the service stops: nothing is restarted from then on. */
  readonly shutdown: AbortSignal;
  readonly report: (line: string) => void;
  readonly isRedundant: () => boolean;
}

/** Supervises a started component. Resolves on shutdown. Rejects with ExpectedError after MAX_FAILURES. */
export async function supervise(component: Component, supervision: Supervision): Promise<void> {
  const { shutdown, report } = supervision;
  /** How often it has ended soon after it had served. */
  let deaths = 0;
  while (!shutdown.aborted) {
    const startedAtMs = performance.now();
    const { child } = component;
    void killWhenUnresponsive(component, child, supervision);
    const how = await child.ended;
    if (shutdown.aborted) return;
    if (!child.isDraining) {
      const wasStable = performance.now() - startedAtMs > STABLE_AFTER_MS;
      deaths = wasStable ? 0 : deaths + 1;
      report(`${capitalize(new ChildExited(child, how).message)}. Starting it again …`);
    }
    await restartUntilServing(component, deaths, supervision);
  }
}

async function restartUntilServing(component: Component, deaths: number, supervision: Supervision): Promise<void> {
  const { shutdown, report } = supervision;
  let failures = 0;
  let backoffMs = Math.min(MIN_BACKOFF_MS * 2 ** Math.max(0, deaths - 1), MAX_BACKOFF_MS);
  for (; !shutdown.aborted; backoffMs = Math.min(2 * backoffMs, MAX_BACKOFF_MS)) {
    await pause(backoffMs, shutdown);
    if (shutdown.aborted) break;
    try {
      await component.start(START_MS, report);
      report(`${capitalize(component.name)} serves again.`);
      break;
    } catch (error) {
      if (shutdown.aborted) break;
      const reason = describeStartFailure(component, error);
      // What others covered is forgotten: one of them may be down for a moment.
      if (supervision.isRedundant()) failures = 0;
      else if (!(error instanceof TemporaryFailure)) failures += 1;
      if (failures === MAX_FAILURES)
        throw new ExpectedError(
          `${component.name} could not be started ${failures} times in a row, the last time: ${reason}`,
        );
      if (reason !== component.startFailure) report(`${reason}. Retrying every few seconds.`);
      component.startFailure = reason;
    }
  }
}

/**
 * Pings the process until it ends. Counts pings instead of time, as this process may have been frozen too. One counts
 * a fifth when this process comes late to the next one: it hears responses only after some turns of its event loop.
 */
async function killWhenUnresponsive(
  component: Component,
  child: Child,
  { shutdown, report }: Supervision,
): Promise<void> {
  const { name, maxMissedPings } = component;
  for (let missed = 0; child.isRunning && !shutdown.aborted; ) {
    if (missed >= maxMissedPings) {
      report(`${capitalize(name)} has not responded ${maxMissedPings} times in a row: it is killed.`);
      child.process.kill('SIGKILL');
      return;
    }
    missed += 1;
    const pingedMs = performance.now();
    const onPong = () => {
      missed = 0;
    };
    component.ping(AbortSignal.timeout(PING_TIMEOUT_MS)).then(onPong, () => undefined);
    await Promise.race([pause(PING_INTERVAL_MS, shutdown), child.ended]);
    if (performance.now() - pingedMs > LATE_MS) missed = Math.max(0, missed - 0.8);
  }
}

/** Describes why a start failed, in a line without a full stop. */
function describeStartFailure({ name, log }: Component, error: unknown): string {
  if (error instanceof ChildExited) return capitalize(error.message);
  return `${capitalize(name)} can't start: ${error instanceof Error ? error.message : error} (see ${log.path})`;
}
