/** The numbers that callers see; the rules of counting are in the suite of all limiters. */
import test from 'ava';
import { toVerdict } from '../../../src/access/limits/windows.ts';

const NOON_MS = Date.UTC(2026, 6, 1, 12);
const [MINUTE_END, DAY_END] = [NOON_MS / 1_000 + 60, NOON_MS / 1_000 + 43_200];
const counter = { minuteIndex: NOON_MS / 60_000, dayIndex: Math.floor(NOON_MS / 86_400_000), refused: 0 };

/** The verdict on a request after which both windows have these counts. */
function verdict(
  allowed: boolean,
  minuteCount: number,
  dayCount: number,
  perMinute: number,
  perDay: number,
  atMs = 0,
): object {
  return toVerdict(allowed, { ...counter, minuteCount, dayCount }, { perMinute, perDay }, NOON_MS + atMs);
}

const minute = (limit: number, remaining: number) => ({
  window: 'minute',
  limit,
  remaining,
  resetAtSeconds: MINUTE_END,
});
const day = (limit: number, remaining: number) => ({ window: 'day', limit, remaining, resetAtSeconds: DAY_END });

for (const [title, [minuteCount, dayCount], [perMinute, perDay], shown] of [
  ['Numbers - the minute is shown while it has fewer requests left', [1, 1], [60, 1_000], minute(60, 59)],
  ['Numbers - the day is shown once it has fewer requests left', [1, 51], [60, 100], day(100, 49)],
  ['Numbers - on a tie the window that resets later is shown', [1, 1], [5, 5], day(5, 4)],
  ['Numbers - without a limit by the day the minute is shown', [1, 1], [1, Infinity], minute(1, 0)],
  ['Numbers - none is below zero after a lower limit', [10, 10], [5, 1_000], minute(5, 0)],
] as const) {
  test(title, (t) => t.deepEqual(verdict(true, minuteCount, dayCount, perMinute, perDay), { allowed: true, ...shown }));
}

test('Refusal - shows the day when both refused, for it resets later', (t) => {
  t.deepEqual(verdict(false, 2, 3, 2, 9), { allowed: false, ...minute(2, 0), retryAfterSeconds: 60 });
  t.deepEqual(verdict(false, 1, 1, 2, 1), { allowed: false, ...day(1, 0), retryAfterSeconds: 43_200 });
  t.deepEqual(verdict(false, 2, 2, 2, 2), { allowed: false, ...day(2, 0), retryAfterSeconds: 43_200 });
});

test('Retry-After - is rounded up to whole seconds, at least 1', (t) => {
  for (const [atMs, expected] of [
    [0, 60],
    [1, 60],
    [57_999, 3],
    [58_000, 2],
    [59_999, 1],
    [59_999.75, 1],
  ] as const) {
    t.like(verdict(false, 1, 1, 1, 1_000, atMs), { retryAfterSeconds: expected });
  }
});
