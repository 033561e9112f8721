/** The order and the durations of the faults, from the seed. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Deployment } from './deployment.ts';
import { type Effect, type Fault, KINDS } from './faults.ts';
import { trueMs } from './history.ts';
import type { Random } from './random.ts';

const HOLD_MS = [100, 300, 1_000, 2_000, 4_000, 6_000] as const;
const PAUSE_MS = [200, 1_000, 3_000, 8_000] as const;

/** A fault that has happened. */
export interface Happened extends Effect {
  readonly name: string;
  readonly startMs: number;
  /** When it was undone. */
  readonly endMs: number;
}

export interface ScheduleOptions {
  readonly deployment: Deployment;
  readonly faults: readonly Fault[];
  readonly random: Random;
  /** No fault begins after this time. */
  readonly lastsMs: number;
  readonly onFault: (fault: Happened) => void;
}

/**
 * Causes the faults of each kind in sequence, and the kinds in parallel. Resolves when the last one is undone. Rejects
 * when a fault could not be caused.
 */
export async function runFaults(options: ScheduleOptions): Promise<void> {
  const { deployment, faults, random } = options;
  const possible = faults.filter(({ isPossible }) => isPossible?.(deployment) ?? true);
  const failure = new AbortController();
  const kinds = KINDS.map(async (kind) => {
    const own = { ...options, random: random.fork(), faults: possible.filter((fault) => kind.includes(fault)) };
    try {
      await oneAfterTheOther(own, failure.signal);
    } catch (error) {
      failure.abort(error); // the other faults undo themselves
      throw error;
    }
  });
  await Promise.allSettled(kinds);
  await Promise.all(kinds);
}

/** Each fault happens once before any is repeated. */
async function oneAfterTheOther(options: ScheduleOptions, signal: AbortSignal): Promise<void> {
  const { deployment, faults, random, lastsMs, onFault } = options;
  const endAtMs = trueMs() + lastsMs;
  const wait = (ms: number) => delay(ms, undefined, { signal });
  for (let left: Fault[] = []; faults.length > 0; ) {
    await wait(random.pick(PAUSE_MS));
    if (left.length === 0) left = shuffled(faults, random);
    const fault = left.pop();
    const holdMs = random.pick(HOLD_MS);
    const own = random.fork();
    if (fault === undefined || trueMs() + holdMs > endAtMs) return;
    const startMs = trueMs();
    const effect = await fault.happen({ deployment, random: own, holdMs, wait });
    onFault({ name: fault.name, ...effect, startMs, endMs: trueMs() });
  }
}

function shuffled<T>(all: readonly T[], random: Random): T[] {
  const drawn = all.map((one) => ({ one, place: random.next() }));
  return drawn.toSorted((a, b) => a.place - b.place).map(({ one }) => one);
}
