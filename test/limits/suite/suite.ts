/** What every limits engine guarantees. An engine's own test file runs it with a way to open one. */
import { banTests } from './bans.ts';
import { jumpTests } from './clock-jumps.ts';
import { concurrencyTests } from './concurrency.ts';
import { modelTests } from './model.ts';
import { overviewTests } from './overview.ts';
import { type LimitsTest, type OpenLimits, useLimits } from './setup.ts';
import { sharedTests } from './shared.ts';
import { usageTests } from './usage.ts';
import { windowTests } from './windows.ts';

/** `test` is ava's, or what skips every test of an engine that is not there. */
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

/** What engines guarantee that share one state; after `runLimitsSuite`. */
export function runSharedLimitsSuite(test: LimitsTest): void {
  sharedTests(test);
}
