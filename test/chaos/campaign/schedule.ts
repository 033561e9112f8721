/** The order and the durations of the faults, from the seed. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Deployment } from './deployment.ts';
import { type Fault, isPossible, KINDS } from './faults.ts';
import { type Happened, trueMs } from './history.ts';
import type { Random } from './random.ts';

const HOLD_MS = [100, 300, 1_000, 2_000, 4_000, 6_000] as const;
const PAUSE_MS = [200, 1_000, 3_000, 8_000] as const;

/**
 * Causes the faults of each kind in sequence, and the kinds in parallel. None begins after `lastsMs`. Adds each to
 * `happened`. Resolves when the last one is undone. Rejects when a fault could not be caused.
 */
export async function runFaults(
  deployment: Deployment,
  faults: readonly Fault[],
  random: Random,
  lastsMs: number,
  happened: Happened[],
): Promise<void> {
  const failure = new AbortController();
  const endAtMs = trueMs() + lastsMs;
  const wait = (ms: number) => delay(ms, undefined, { signal: failure.signal });
  const possible = faults.filter((fault) => isPossible(fault, deployment));
  const kinds = KINDS.map(async (kind) => {
    const own = random.fork();
    const all = possible.filter((fault) => kind.includes(fault));
    // Each happens once before any is repeated.
    for (let left: Fault[] = []; all.length > 0; ) {
      await wait(own.pick(PAUSE_MS));
      if (left.length === 0) left = own.shuffled(all);
      const fault = left.pop();
      const holdMs = own.pick(HOLD_MS);
      if (fault === undefined || trueMs() + holdMs > endAtMs) return;
      const hold = (undo?: () => unknown) => wait(holdMs).finally(undo);
      const startMs = trueMs();
      const what = await fault.happen({ deployment, random: own.fork(), hold });
      happened.push({ name: fault.name, what: `${what} (${holdMs} ms)`, startMs, endMs: trueMs() });
    }
  });
  for (const kind of kinds) kind.catch((error: unknown) => failure.abort(error)); // the other faults undo themselves
  await Promise.allSettled(kinds);
  await Promise.all(kinds);
}
