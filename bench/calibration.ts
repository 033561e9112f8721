/**
 * Tells how steady the machine is. A virtual machine may be several times slower for minutes, CPU time included, and
 * only a loop that always does the same shows it.
 */

const ITERATIONS = 20_000_000;
const timesMs: number[] = [];
let sink = 0;

/** Times the loop once, which takes some 20 ms. Nothing else should run meanwhile. */
export function calibrate(): void {
  const startMs = performance.now();
  for (let i = 0; i < ITERATIONS; i += 1) sink = (sink * 31 + i) | 0;
  timesMs.push(performance.now() - startMs);
}

/** The time of the slowest loop as a multiple of the fastest. */
export function slowestLoop(): number {
  return Math.max(...timesMs) / Math.min(...timesMs);
}
