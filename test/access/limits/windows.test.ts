import test from 'ava';
import { countRequest, newCounter, peek, type Verdict } from '../../../src/access/limits/windows.ts';
import type { Quota } from '../../../src/rpc/caller.ts';

const MIDNIGHT_MS = Date.UTC(2026, 6, 1);
const NOON_MS = Date.UTC(2026, 6, 1, 12);
const NEXT_MIDNIGHT_MS = Date.UTC(2026, 6, 2);
const UNLIMITED_BY_DAY = Number.POSITIVE_INFINITY;

/** A counter with a number of requests already made, all admitted. */
function used(requests: number, quota: Quota, nowMs: number) {
  const counter = newCounter(nowMs);
  for (let i = 0; i < requests; i += 1) countRequest(counter, quota, nowMs);
  return counter;
}

function retryAfterSeconds(verdict: Verdict): number {
  if (verdict.allowed) throw new Error('expected a refusal');
  return verdict.retryAfterSeconds;
}

test('Minute - exactly the quota is admitted', (t) => {
  const quota = { perMinute: 60, perDay: 1_000 };
  const counter = newCounter(NOON_MS);
  const verdicts = Array.from({ length: 100 }, () => countRequest(counter, quota, NOON_MS).allowed);
  t.is(verdicts.lastIndexOf(true), 59);
  t.is(verdicts.indexOf(false), 60);
});

test('Minute - lasts to its last millisecond and not longer', (t) => {
  const quota = { perMinute: 1, perDay: 1_000 };
  const counter = used(1, quota, NOON_MS + 30_000);
  t.false(countRequest(counter, quota, NOON_MS + 59_999).allowed);
  t.true(countRequest(counter, quota, NOON_MS + 60_000).allowed);
});

test('Minute - is aligned to UTC, not to the first request', (t) => {
  const quota = { perMinute: 1, perDay: 1_000 };
  const counter = used(1, quota, NOON_MS + 59_999);
  t.true(countRequest(counter, quota, NOON_MS + 60_000).allowed);
});

test('Day - exactly the quota is admitted, over all its minutes', (t) => {
  const quota = { perMinute: 60, perDay: 1_000 };
  const counter = newCounter(MIDNIGHT_MS);
  let admitted = 0;
  for (let minute = 0; minute < 1_440; minute += 1) {
    if (countRequest(counter, quota, MIDNIGHT_MS + minute * 60_000).allowed) admitted += 1;
  }
  t.is(admitted, 1_000);
});

test('Day - ends at midnight UTC, to the millisecond', (t) => {
  const quota = { perMinute: 60, perDay: 1 };
  const counter = used(1, quota, MIDNIGHT_MS);
  t.false(countRequest(counter, quota, NEXT_MIDNIGHT_MS - 1).allowed);
  t.true(countRequest(counter, quota, NEXT_MIDNIGHT_MS).allowed);
});

test('Day - a new minute does not renew it', (t) => {
  const quota = { perMinute: 60, perDay: 2 };
  const counter = used(2, quota, NOON_MS);
  t.false(countRequest(counter, quota, NOON_MS + 60_000).allowed);
});

test('Both windows - a request refused by the minute does not count in the day', (t) => {
  const quota = { perMinute: 1, perDay: 2 };
  const counter = used(1, quota, NOON_MS);
  for (let i = 0; i < 10; i += 1) t.false(countRequest(counter, quota, NOON_MS).allowed);
  t.true(countRequest(counter, quota, NOON_MS + 60_000).allowed);
});

test('Both windows - a request refused by the day does not count in the minute', (t) => {
  const counter = used(1, { perMinute: 2, perDay: 1 }, NOON_MS);
  t.false(countRequest(counter, { perMinute: 2, perDay: 1 }, NOON_MS).allowed);
  t.true(countRequest(counter, { perMinute: 2, perDay: 9 }, NOON_MS).allowed);
});

test('Numbers - the minute is shown while it has fewer requests left', (t) => {
  t.deepEqual(countRequest(newCounter(NOON_MS), { perMinute: 60, perDay: 1_000 }, NOON_MS), {
    allowed: true,
    window: 'minute',
    limit: 60,
    remaining: 59,
    resetAtSeconds: NOON_MS / 1_000 + 60,
  });
});

test('Numbers - the day is shown once it has fewer requests left', (t) => {
  const quota = { perMinute: 60, perDay: 100 };
  const counter = used(50, quota, NOON_MS);
  t.deepEqual(countRequest(counter, quota, NOON_MS + 60_000), {
    allowed: true,
    window: 'day',
    limit: 100,
    remaining: 49,
    resetAtSeconds: NEXT_MIDNIGHT_MS / 1_000,
  });
});

test('Numbers - on a tie the window that resets later is shown', (t) => {
  const verdict = countRequest(newCounter(NOON_MS), { perMinute: 5, perDay: 5 }, NOON_MS);
  t.like(verdict, { window: 'day', remaining: 4, resetAtSeconds: NEXT_MIDNIGHT_MS / 1_000 });
});

test('Numbers - without a limit by the day the minute is shown', (t) => {
  const quota = { perMinute: 1, perDay: UNLIMITED_BY_DAY };
  const counter = newCounter(NOON_MS);
  t.like(countRequest(counter, quota, NOON_MS), { allowed: true, window: 'minute', limit: 1, remaining: 0 });
  t.like(countRequest(counter, quota, NOON_MS), { allowed: false, window: 'minute', limit: 1, remaining: 0 });
});

test('Refusal - shows the minute when the minute refused', (t) => {
  const quota = { perMinute: 2, perDay: 3 };
  const counter = used(2, quota, NOON_MS);
  t.deepEqual(countRequest(counter, quota, NOON_MS + 20_000), {
    allowed: false,
    window: 'minute',
    limit: 2,
    remaining: 0,
    resetAtSeconds: NOON_MS / 1_000 + 60,
    retryAfterSeconds: 40,
  });
});

test('Refusal - shows the day when the day refused', (t) => {
  const quota = { perMinute: 2, perDay: 1 };
  const counter = used(1, quota, NOON_MS);
  t.deepEqual(countRequest(counter, quota, NOON_MS), {
    allowed: false,
    window: 'day',
    limit: 1,
    remaining: 0,
    resetAtSeconds: NEXT_MIDNIGHT_MS / 1_000,
    retryAfterSeconds: 43_200,
  });
});

test('Refusal - shows the day when both refused, for it resets later', (t) => {
  const quota = { perMinute: 2, perDay: 2 };
  t.like(countRequest(used(2, quota, NOON_MS), quota, NOON_MS), { allowed: false, window: 'day', limit: 2 });
});

test('Retry-After - is rounded up to whole seconds', (t) => {
  const quota = { perMinute: 1, perDay: 1_000 };
  const counter = used(1, quota, NOON_MS);
  t.is(retryAfterSeconds(countRequest(counter, quota, NOON_MS)), 60);
  t.is(retryAfterSeconds(countRequest(counter, quota, NOON_MS + 1)), 60);
  t.is(retryAfterSeconds(countRequest(counter, quota, NOON_MS + 57_999)), 3);
  t.is(retryAfterSeconds(countRequest(counter, quota, NOON_MS + 58_000)), 2);
});

test('Retry-After - is at least 1', (t) => {
  const quota = { perMinute: 1, perDay: 1_000 };
  const counter = used(1, quota, NOON_MS);
  t.is(retryAfterSeconds(countRequest(counter, quota, NOON_MS + 59_999)), 1);
  t.is(retryAfterSeconds(countRequest(counter, quota, NOON_MS + 59_999.75)), 1);
});

test('Retry-After - a request after this wait is admitted', (t) => {
  const quota = { perMinute: 1, perDay: 1_000 };
  for (const delayMs of [0, 1, 999, 1_000, 30_500, 59_001, 59_999]) {
    const counter = used(1, quota, NOON_MS);
    const waitMs = retryAfterSeconds(countRequest(counter, quota, NOON_MS + delayMs)) * 1_000;
    t.true(countRequest(counter, quota, NOON_MS + delayMs + waitMs).allowed, `refused after ${delayMs} ms`);
  }
});

test('Quota change - a lower limit takes effect with the next request', (t) => {
  const counter = used(10, { perMinute: 60, perDay: 1_000 }, NOON_MS);
  t.like(countRequest(counter, { perMinute: 5, perDay: 1_000 }, NOON_MS), {
    allowed: false,
    window: 'minute',
    limit: 5,
    remaining: 0,
  });
  t.like(countRequest(counter, { perMinute: 60, perDay: 10 }, NOON_MS), {
    allowed: false,
    window: 'day',
    remaining: 0,
  });
});

test('Quota change - a higher limit takes effect with the next request, and used requests stay counted', (t) => {
  const counter = used(5, { perMinute: 5, perDay: 1_000 }, NOON_MS);
  t.like(countRequest(counter, { perMinute: 300, perDay: 10_000 }, NOON_MS), {
    allowed: true,
    limit: 300,
    remaining: 294,
  });
});

test('Clock stepping back - costs a window, and Retry-After is right', (t) => {
  const quota = { perMinute: 1, perDay: 1_000 };
  const counter = used(1, quota, NOON_MS);
  t.like(countRequest(counter, quota, NOON_MS - 60_000), { allowed: true, resetAtSeconds: NOON_MS / 1_000 });
  t.is(retryAfterSeconds(countRequest(counter, quota, NOON_MS - 60_000)), 60);
});

test('Peek - shows what is left and counts nothing', (t) => {
  const quota = { perMinute: 3, perDay: 1_000 };
  const counter = used(1, quota, NOON_MS);
  for (let i = 0; i < 5; i += 1) t.like(peek(counter, quota, NOON_MS), { allowed: true, limit: 3, remaining: 2 });
  t.like(countRequest(counter, quota, NOON_MS), { allowed: true, remaining: 1 });
});

test('Peek - reports that a request would be refused', (t) => {
  const quota = { perMinute: 1, perDay: 1_000 };
  const counter = used(1, quota, NOON_MS);
  t.like(peek(counter, quota, NOON_MS), { allowed: false, remaining: 0, retryAfterSeconds: 60 });
  t.like(peek(counter, quota, NOON_MS + 60_000), { allowed: true, remaining: 1 });
});
