/** Which faults come, in which order and for how long: all of it from the seed. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Deployment } from './deployment.ts';
import type { Fault, Touches } from './faults.ts';
import { trueMs } from './history.ts';
import type { Random } from './random.ts';

const HOLD_MS = [100, 300, 1_000, 2_000, 4_000, 6_000] as const;
const PAUSE_MS = [100, 500, 1_500, 4_000] as const;

/** A fault as it happened. */
export interface Happened {
  readonly name: string;
  readonly touches: readonly Touches[];
  readonly what: string;
  readonly startMs: number;
  /** When it had been undone. */
  readonly endMs: number;
}

export interface ScheduleOptions {
  readonly deployment: Deployment;
  readonly faults: readonly Fault[];
  readonly random: Random;
  /** No fault begins after so long. */
  readonly lastsMs: number;
  readonly signal: AbortSignal;
  readonly onFault: (fault: Happened) => void;
}

/**
 * Lets one fault happen after the other, each kind once before any comes again. Resolves when the last has been undone;
 * rejects when one could not be made to happen, or when it is interrupted.
 */
export async function letFaultsHappen(options: ScheduleOptions): Promise<void> {
  const { deployment, faults, random, lastsMs, signal, onFault } = options;
  const endAtMs = trueMs() + lastsMs;
  const wait = (ms: number) => delay(ms, undefined, { signal });
  for (let left: Fault[] = []; ; ) {
    await wait(random.pick(PAUSE_MS));
    if (left.length === 0) left = shuffled(faults, random);
    const fault = left.pop();
    const holdMs = random.pick(HOLD_MS);
    const own = random.fork();
    if (fault === undefined || trueMs() + holdMs > endAtMs) return;
    const startMs = trueMs();
    const what = await fault.happen({ deployment, random: own, holdMs, wait });
    onFault({ name: fault.name, touches: fault.touches, what, startMs, endMs: trueMs() });
  }
}

function shuffled<T>(all: readonly T[], random: Random): T[] {
  const drawn = all.map((one) => ({ one, place: random.next() }));
  return drawn.toSorted((a, b) => a.place - b.place).map(({ one }) => one);
}
