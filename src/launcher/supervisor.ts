/**
 * Keeps a part of the service running. A process that ends by itself is followed by another, after a pause that grows
 * while that keeps happening. One that is there and gives no sign of life is ended first: it is frozen, or in a loop.
 *
 * A part that fails again and again is given up, and with it the service, unless others do its work. What may pass by
 * itself (the disk is full, the database is away) is waited for.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, ChildEnded } from './child.ts';
import type { Part } from './part.ts';

/** How long a process that follows another may take until it serves. */
export const START_MS = 60_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/** A process that has run for so long has not ended soon after its start. */
const STEADY_MS = 10_000;
/** So many failures in a row, at the start or soon after it, are the end. */
const MAX_FAILURES = 5;
/** How often a process is asked for a sign of life, and how many questions may go unanswered: a machine may be busy. */
const ASK_MS = 1_000;
const MAX_UNANSWERED = 6;

/** A process that can't start now, for a reason that may pass by itself. */
export class NotNow extends Error {
  override name = 'NotNow';
}

/** A part that is not started again. */
export class GivenUp extends Error {
  override name = 'GivenUp';
}

export interface Supervision {
  /** Aborted when the service is to stop: nothing is started any more, and what ends may end. */
  readonly over: AbortSignal;
  /** Takes lines for people. */
  readonly say: (line: string) => void;
  /** Whether others do the work of the part meanwhile. */
  readonly canDoWithout: () => boolean;
}

/** Watches over a part that has been started. Resolves when it is over; rejects with GivenUp. */
export async function supervise(part: Part, supervision: Supervision): Promise<void> {
  const { over, say } = supervision;
  let failures = 0;
  while (!over.aborted) {
    const startedAtMs = performance.now();
    const { child } = part;
    void endWhenSilent(part, child, supervision);
    const how = await child.ended;
    const wasSteady = performance.now() - startedAtMs > STEADY_MS;
    await part.alone(async () => {
      if (over.aborted || part.child.isRunning) return; // a rolling restart has started the next
      if (!part.isLeaving(child)) {
        const ended = new ChildEnded(child, how);
        failures = wasSteady ? 0 : failures + 1;
        giveUpAfter(failures, ended.message, part, supervision);
        say(`${capitalize(ended.message)}. Starting it again …`);
      }
      failures = await startAgain(part, failures, supervision);
    });
  }
}

/** Tries until it serves, or all is over. Resolves with the number of failures in a row by then. */
async function startAgain(part: Part, failuresBefore: number, supervision: Supervision): Promise<number> {
  const { over, say } = supervision;
  let failures = failuresBefore;
  let pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.max(0, failures - 1), LONGEST_PAUSE_MS);
  for (let told = ''; !over.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    await delay(pauseMs, undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) break;
    try {
      await part.start(START_MS);
      say(`${capitalize(part.name)} serves again.`);
      break;
    } catch (error) {
      if (over.aborted) break;
      const reason = whyNotStarted(part, error);
      if (!(error instanceof NotNow)) failures += 1;
      giveUpAfter(failures, reason, part, supervision);
      if (reason !== told) say(`${reason}. It is tried again every few seconds.`);
      told = reason;
    }
  }
  return failures;
}

function giveUpAfter(failures: number, reason: string, { name }: Part, { canDoWithout }: Supervision): void {
  if (failures < MAX_FAILURES || canDoWithout()) return;
  throw new GivenUp(`${name} failed ${failures} times in a row, the last time: ${reason}`);
}

/** Asks for signs of life until the process ends. They are counted, not timed: this process may have been frozen too. */
async function endWhenSilent(part: Part, child: Child, { over, say }: Supervision): Promise<void> {
  for (let unanswered = 0; child.isRunning && !over.aborted; ) {
    if (unanswered === MAX_UNANSWERED) {
      say(`${capitalize(part.name)} has not answered ${MAX_UNANSWERED} times in a row: it is ended.`);
      child.process.kill('SIGKILL');
      return;
    }
    unanswered += 1;
    const noteAnswer = () => {
      unanswered = 0;
    };
    part.answers(AbortSignal.timeout(ASK_MS * MAX_UNANSWERED)).then(noteAnswer, () => undefined);
    await Promise.race([delay(ASK_MS, undefined, { signal: over }).catch(() => undefined), child.ended]);
  }
}

/** A line for people, without a full stop. */
export function whyNotStarted({ name, log }: Part, error: unknown): string {
  if (error instanceof ChildEnded) return capitalize(error.message);
  return `${capitalize(name)} can't start: ${error instanceof Error ? error.message : error} (see ${log.path})`;
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
