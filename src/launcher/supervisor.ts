/**
 * Keeps a part of the service running. A process that ends by itself is followed by another, after a pause that grows
 * while that keeps happening. One that is there and gives no sign of life is ended first: it is frozen, or in a loop.
 *
 * A part that fails again and again is given up, and with it the service, unless others do its work. What may pass by
 * itself (the disk is full, the database is away) is waited for.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, ChildExited } from './child.ts';
import type { Component } from './component.ts';

/** How long a process that follows another may take until it serves. */
export const START_MS = 60_000;
const MIN_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 5_000;
/** A process that has run for so long has not ended soon after its start. */
const STABLE_AFTER_MS = 10_000;
/** So many failures in a row, at the start or soon after it, are the end. */
const MAX_FAILURES = 5;
/** How often a process is asked for a sign of life, and how many questions may go unanswered: a machine may be busy. */
const PING_INTERVAL_MS = 1_000;
const MAX_UNANSWERED_PINGS = 6;

/** A process that can't start now, for a reason that may pass by itself. */
export class TemporaryFailure extends Error {
  override name = 'TemporaryFailure';
}

/** A part that is not started again. */
export class TooManyFailures extends Error {
  override name = 'TooManyFailures';
}

export interface Supervision {
  /** Aborted when the service is to stop: nothing is started any more, and what ends may end. */
  readonly shutdown: AbortSignal;
  /** Takes lines for people. */
  readonly report: (line: string) => void;
  /** Whether others do the work of the part meanwhile. */
  readonly isRedundant: () => boolean;
}

/** Watches over a part that has been started. Resolves when it is over; rejects with GivenUp. */
export async function supervise(component: Component, supervision: Supervision): Promise<void> {
  const { shutdown, report } = supervision;
  let failures = 0;
  while (!shutdown.aborted) {
    const startedAtMs = performance.now();
    const { child } = component;
    void killWhenUnresponsive(component, child, supervision);
    const how = await child.ended;
    const wasStable = performance.now() - startedAtMs > STABLE_AFTER_MS;
    await component.runExclusive(async () => {
      if (shutdown.aborted || component.child.isRunning) return; // a rolling restart has started the next
      if (!component.isDraining(child)) {
        const ended = new ChildExited(child, how);
        failures = wasStable ? 0 : failures + 1;
        checkFailureCount(failures, ended.message, component, supervision);
        report(`${capitalize(ended.message)}. Starting it again …`);
      }
      failures = await restartUntilServing(component, failures, supervision);
    });
  }
}

/** Tries until it serves, or all is over. Resolves with the number of failures in a row by then. */
async function restartUntilServing(
  component: Component,
  failuresBefore: number,
  supervision: Supervision,
): Promise<number> {
  const { shutdown, report } = supervision;
  let failures = failuresBefore;
  let backoffMs = Math.min(MIN_BACKOFF_MS * 2 ** Math.max(0, failures - 1), MAX_BACKOFF_MS);
  for (let lastReported = ''; !shutdown.aborted; backoffMs = Math.min(2 * backoffMs, MAX_BACKOFF_MS)) {
    await delay(backoffMs, undefined, { signal: shutdown }).catch(() => undefined);
    if (shutdown.aborted) break;
    try {
      await component.start(START_MS);
      report(`${capitalize(component.name)} serves again.`);
      break;
    } catch (error) {
      if (shutdown.aborted) break;
      const reason = describeStartFailure(component, error);
      if (!(error instanceof TemporaryFailure)) failures += 1;
      checkFailureCount(failures, reason, component, supervision);
      if (reason !== lastReported) report(`${reason}. It is tried again every few seconds.`);
      lastReported = reason;
    }
  }
  return failures;
}

function checkFailureCount(failures: number, reason: string, { name }: Component, { isRedundant }: Supervision): void {
  if (failures < MAX_FAILURES || isRedundant()) return;
  throw new TooManyFailures(`${name} failed ${failures} times in a row, the last time: ${reason}`);
}

/** Asks for signs of life until the process ends. They are counted, not timed: this process may have been frozen too. */
async function killWhenUnresponsive(
  component: Component,
  child: Child,
  { shutdown, report }: Supervision,
): Promise<void> {
  for (let unanswered = 0; child.isRunning && !shutdown.aborted; ) {
    if (unanswered === MAX_UNANSWERED_PINGS) {
      report(`${capitalize(component.name)} has not answered ${MAX_UNANSWERED_PINGS} times in a row: it is ended.`);
      child.process.kill('SIGKILL');
      return;
    }
    unanswered += 1;
    const noteAnswer = () => {
      unanswered = 0;
    };
    component.ping(AbortSignal.timeout(PING_INTERVAL_MS * MAX_UNANSWERED_PINGS)).then(noteAnswer, () => undefined);
    await Promise.race([delay(PING_INTERVAL_MS, undefined, { signal: shutdown }).catch(() => undefined), child.ended]);
  }
}

/** A line for people, without a full stop. */
export function describeStartFailure({ name, log }: Component, error: unknown): string {
  if (error instanceof ChildExited) return capitalize(error.message);
  return `${capitalize(name)} can't start: ${error instanceof Error ? error.message : error} (see ${log.path})`;
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
