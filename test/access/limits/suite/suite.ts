/** The guarantees of every limiter. The test file of a limiter runs this suite with a function that opens one. */
import { banTests } from './bans.ts';
import { jumpTests } from './clock-jumps.ts';
import { concurrencyTests } from './concurrency.ts';
import { modelTests } from './model.ts';
import { overviewTests } from './overview.ts';
import { type LimitsTest, type OpenLimits, useLimits } from './setup.ts';
import { sharedTests } from './shared.ts';
import { usageTests } from './usage.ts';
import { windowTests } from './windows.ts';

/** `test` is ava's, or a substitute that skips all tests when a program is missing. */
export function runLimitsSuite(openLimits: OpenLimits, test: LimitsTest): void {
  useLimits(openLimits, test);
  windowTests(test);
  banTests(test);
  overviewTests(test);
  usageTests(test);
  concurrencyTests(test);
  jumpTests(test);
  modelTests(test);
}

/** The guarantees of limiters that share one state. Runs after `runLimitsSuite`. */
export function runSharedLimitsSuite(test: LimitsTest): void {
  sharedTests(test);
}
