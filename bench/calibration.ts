/**
 * How steady the machine is. A virtual machine may be several times slower for minutes, CPU time included, and shows it
 * nowhere: but then a loop that always does the same takes longer.
 */

const ITERATIONS = 20_000_000;
const timesMs: number[] = [];
let sink = 0;

/** Times the loop once: some 20 ms. Nothing else should run meanwhile. */
export function calibrate(): void {
  const startMs = performance.now();
  for (let i = 0; i < ITERATIONS; i += 1) sink = (sink * 31 + i) | 0;
  timesMs.push(performance.now() - startMs);
}

/** How many times as long as the fastest the slowest loop has taken. */
export function slowestLoop(): number {
  return Math.max(...timesMs) / Math.min(...timesMs);
}
