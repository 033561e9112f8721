/** The order and the durations of the faults, from the seed. */
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import type { Deployment } from './deployment.ts';
import { type Fault, isPossible, KINDS } from './faults.ts';

export interface Happened {
  readonly name: string;
  readonly what: string;
  readonly startMs: number;
  /** When it was undone. */
  readonly endMs: number;
}

/** The endless sequence of this number, of a seed. */
export function sequence<T>(values: fc.Arbitrary<T>, seed: number, number: number): IterableIterator<T, T> {
  const endless = fc.noBias(fc.infiniteStream(values, { noHistory: true }));
  const [made] = fc.sample(endless, { seed: seed * 1_000 + number, numRuns: 1 });
  if (made === undefined) throw new Error('fast-check made nothing');
  return made;
}

const MOMENT = fc.record({
  afterMs: fc.constantFrom(200, 1_000, 3_000, 8_000),
  holdMs: fc.constantFrom(100, 300, 1_000, 2_000, 4_000, 6_000),
  slowMs: fc.constantFrom(20, 100, 500),
  chosen: fc.nat(),
});

/**
 * Causes the faults of each kind in sequence, and the kinds in parallel. None begins after `lastsMs`. Adds each to
 * `happened`. Resolves when the last one is undone. Rejects when a fault could not be caused.
 */
export async function runFaults(
  deployment: Deployment,
  faults: readonly Fault[],
  seed: number,
  lastsMs: number,
  happened: Happened[],
): Promise<void> {
  const failure = new AbortController();
  const endAtMs = Date.now() + lastsMs;
  const wait = (ms: number) => delay(ms, undefined, { signal: failure.signal });
  const possible = faults.filter((fault) => isPossible(fault, deployment));
  const kinds = KINDS.map(async (kind, index) => {
    const all = possible.filter((fault) => kind.includes(fault));
    if (all.length === 0) return;
    const moments = sequence(MOMENT, seed, index);
    // Each happens once before any is repeated.
    const orders = sequence(fc.shuffledSubarray(all, { minLength: all.length }), seed, index);
    for (let left: Fault[] = []; ; ) {
      if (left.length === 0) left = orders.next().value;
      const fault = left.pop() as Fault;
      const { afterMs, holdMs, ...chance } = moments.next().value;
      await wait(afterMs);
      if (Date.now() + holdMs > endAtMs) return;
      const hold = (undo?: () => unknown) => wait(holdMs).finally(undo);
      const startMs = Date.now();
      const what = await fault.happen({ deployment, hold, ...chance });
      happened.push({ name: fault.name, what: `${what} (${holdMs} ms)`, startMs, endMs: Date.now() });
    }
  });
  for (const kind of kinds) kind.catch((error: unknown) => failure.abort(error)); // the other faults undo themselves
  await Promise.allSettled(kinds);
  await Promise.all(kinds);
}
