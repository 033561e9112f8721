import test from 'ava';
import type { AccountAttempt, Ban, Decision } from '../../src/limits/limiter.ts';
import { createMemoryLimiter, type MemoryLimiter, type MemoryLimiterOptions } from '../../src/limits/memory.ts';

const NOON_MS = Date.UTC(2026, 6, 1, 12);
const MIDNIGHT_MS = Date.UTC(2026, 6, 2);
const DAY_INDEX = Math.floor(NOON_MS / 86_400_000);
const OPTIONS: MemoryLimiterOptions = {
  ban: { refusals: 20, windowMs: 60_000, durationMs: 300_000 },
  addresses: { perMinute: 60, maxTracked: 1_000 },
};

const ACCOUNT: AccountAttempt = {
  kind: 'account',
  subject: 'acc',
  key: 'key',
  quota: { perMinute: 60, perDay: 1_000 },
  nowMs: NOON_MS,
};

/** Admits the same request a number of times and gives the last decision. */
function repeat(limiter: MemoryLimiter, times: number, attempt: AccountAttempt): Decision {
  let decision = limiter.admit(attempt);
  for (let i = 1; i < times; i += 1) decision = limiter.admit(attempt);
  return decision;
}

function fromAddress(limiter: MemoryLimiter, subject: string, nowMs = NOON_MS): Decision {
  return limiter.admit({ kind: 'address', subject, nowMs });
}

/** Makes a key be banned at noon: 60 requests pass, 20 are refused. */
function ban(limiter: MemoryLimiter): void {
  repeat(limiter, 80, ACCOUNT);
}

test('Account - all its keys share one quota', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  repeat(limiter, 59, ACCOUNT);
  t.like(limiter.admit({ ...ACCOUNT, key: 'second' }), { allowed: true, remaining: 0 });
  t.like(limiter.admit({ ...ACCOUNT, key: 'third' }), { allowed: false, window: 'minute' });
});

test('Account - one does not use what is another’s', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  repeat(limiter, 60, ACCOUNT);
  t.like(limiter.admit({ ...ACCOUNT, subject: 'other' }), { allowed: true, remaining: 59 });
});

test('Account - never shares a counter with an address of the same name', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  repeat(limiter, 60, ACCOUNT);
  t.like(fromAddress(limiter, ACCOUNT.subject), { allowed: true, remaining: 59 });
});

test('Account - a change of its quota holds from the next request on', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  repeat(limiter, 60, ACCOUNT);
  t.false(limiter.admit(ACCOUNT).allowed);
  const upgraded = { ...ACCOUNT, quota: { perMinute: 300, perDay: 10_000 } };
  t.like(limiter.admit(upgraded), { allowed: true, limit: 300, remaining: 239 });
});

test('Account - a new day begins at midnight UTC', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  const attempt = { ...ACCOUNT, quota: { perMinute: 60, perDay: 1 }, nowMs: MIDNIGHT_MS - 1 };
  t.true(limiter.admit(attempt).allowed);
  t.like(limiter.admit(attempt), { allowed: false, window: 'day', retryAfterSeconds: 1 });
  t.like(limiter.admit({ ...attempt, nowMs: MIDNIGHT_MS }), { allowed: true, remaining: 0 });
});

test('Address - 60 requests a minute pass, and no limit by the day', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  for (let minute = 0; minute < 1_440; minute += 1) {
    const nowMs = NOON_MS + minute * 60_000;
    for (let i = 0; i < 60; i += 1) if (!fromAddress(limiter, '192.0.2.1', nowMs).allowed) t.fail();
    t.like(fromAddress(limiter, '192.0.2.1', nowMs), { allowed: false, window: 'minute', limit: 60, remaining: 0 });
  }
});

test('Address - is never banned: any number of refusals later the next minute is open', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  for (let i = 0; i < 1_000; i += 1) fromAddress(limiter, '192.0.2.1');
  t.true(fromAddress(limiter, '192.0.2.1', NOON_MS + 60_000).allowed);
});

test('Ban - begins with the 20th refusal, and its caller is told', (t) => {
  const bans: Ban[] = [];
  const limiter = createMemoryLimiter({ ...OPTIONS, onBan: (begun) => bans.push(begun) });
  repeat(limiter, 79, ACCOUNT);
  t.deepEqual(bans, []);
  const twentieth = limiter.admit(ACCOUNT);
  t.like(twentieth, { allowed: false, window: 'minute', retryAfterSeconds: 60 });
  t.false('bannedUntilMs' in twentieth);
  t.deepEqual(bans, [{ key: 'key', untilMs: NOON_MS + 300_000 }]);
  repeat(limiter, 100, ACCOUNT);
  t.is(bans.length, 1);
});

test('Ban - is told with its end, the wait in whole seconds, and the numbers of the account', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  ban(limiter);
  t.deepEqual(limiter.admit({ ...ACCOUNT, nowMs: NOON_MS + 70_001 }), {
    allowed: false,
    bannedUntilMs: NOON_MS + 300_000,
    window: 'minute',
    limit: 60,
    remaining: 60,
    resetAtSeconds: NOON_MS / 1_000 + 120,
    retryAfterSeconds: 230,
  });
});

test('Ban - requests during it count for nothing and do not prolong it', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  ban(limiter);
  for (let second = 1; second < 300; second += 1) {
    t.true('bannedUntilMs' in limiter.admit({ ...ACCOUNT, nowMs: NOON_MS + second * 1_000 }));
  }
  t.like(limiter.admit({ ...ACCOUNT, nowMs: NOON_MS + 300_000 }), { allowed: true, remaining: 59 });
});

test('Ban - another key of the account still works', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  ban(limiter);
  t.like(limiter.admit({ ...ACCOUNT, key: 'second', nowMs: NOON_MS + 60_000 }), { allowed: true, remaining: 59 });
});

test('Ban - survives a restart', (t) => {
  const bans: Ban[] = [];
  ban(createMemoryLimiter({ ...OPTIONS, onBan: (begun) => bans.push(begun) }));
  const restarted = createMemoryLimiter(OPTIONS);
  restarted.restoreBans(bans);
  t.like(restarted.admit({ ...ACCOUNT, nowMs: NOON_MS + 299_001 }), { allowed: false, retryAfterSeconds: 1 });
  t.true(restarted.admit({ ...ACCOUNT, nowMs: NOON_MS + 300_000 }).allowed);
});

test('Usage - a drain gives the totals of the day, refusals and bans among them', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  repeat(limiter, 85, ACCOUNT);
  t.deepEqual(limiter.drainUsage(), [{ subject: 'acc', dayIndex: DAY_INDEX, requests: 60, refused: 25 }]);
});

test('Usage - a drain gives only what changed since the last, as totals', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  limiter.admit(ACCOUNT);
  limiter.admit({ ...ACCOUNT, subject: 'other' });
  limiter.drainUsage();
  t.deepEqual(limiter.drainUsage(), []);
  limiter.admit(ACCOUNT);
  t.deepEqual(limiter.drainUsage(), [{ subject: 'acc', dayIndex: DAY_INDEX, requests: 2, refused: 0 }]);
});

test('Usage - what was counted just before midnight is drained after it, as the day it belongs to', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  limiter.admit({ ...ACCOUNT, nowMs: MIDNIGHT_MS - 1 });
  limiter.admit({ ...ACCOUNT, nowMs: MIDNIGHT_MS });
  t.deepEqual(limiter.drainUsage(), [
    { subject: 'acc', dayIndex: DAY_INDEX, requests: 1, refused: 0 },
    { subject: 'acc', dayIndex: DAY_INDEX + 1, requests: 1, refused: 0 },
  ]);
});

test('Usage - none is kept of addresses', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  fromAddress(limiter, '192.0.2.1');
  t.deepEqual(limiter.drainUsage(), []);
});

test('Usage - the day’s count survives a restart', (t) => {
  const attempt = { ...ACCOUNT, quota: { perMinute: 60, perDay: 70 } };
  const limiter = createMemoryLimiter(OPTIONS);
  repeat(limiter, 61, attempt);
  const restarted = createMemoryLimiter(OPTIONS);
  restarted.restoreUsage(limiter.drainUsage());
  t.like(repeat(restarted, 10, attempt), { allowed: true, window: 'day', remaining: 0 });
  t.like(restarted.admit(attempt), { allowed: false, window: 'day', limit: 70 });
  t.deepEqual(restarted.drainUsage(), [{ subject: 'acc', dayIndex: DAY_INDEX, requests: 70, refused: 2 }]);
});

test('Usage - the count of a day that is over is not taken up', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  limiter.restoreUsage([
    { subject: 'acc', dayIndex: DAY_INDEX, requests: 5, refused: 5 },
    { subject: 'idle', dayIndex: DAY_INDEX - 1, requests: 9, refused: 9 },
  ]);
  t.is(limiter.tracked.accounts, 1);
  limiter.admit({ ...ACCOUNT, nowMs: MIDNIGHT_MS });
  t.deepEqual(limiter.drainUsage(), [{ subject: 'acc', dayIndex: DAY_INDEX + 1, requests: 1, refused: 0 }]);
});

test('Clock going backwards - grants nothing, not even to what was forgotten meanwhile', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  const attempt = { ...ACCOUNT, quota: { perMinute: 60, perDay: 1 }, nowMs: MIDNIGHT_MS - 1 };
  limiter.admit(attempt);
  for (let i = 0; i < 60; i += 1) fromAddress(limiter, '192.0.2.1', MIDNIGHT_MS - 1);
  fromAddress(limiter, '192.0.2.2', MIDNIGHT_MS);
  limiter.admit({ ...attempt, subject: 'other', nowMs: MIDNIGHT_MS });

  t.like(limiter.admit(attempt), { allowed: true, resetAtSeconds: MIDNIGHT_MS / 1_000 + 86_400 });
  t.like(fromAddress(limiter, '192.0.2.1', MIDNIGHT_MS - 1), { resetAtSeconds: MIDNIGHT_MS / 1_000 + 60 });
  t.false(limiter.admit({ ...attempt, nowMs: MIDNIGHT_MS }).allowed);
});

test('Reading - shows the numbers, counts nothing and leaves no trace', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  t.like(limiter.peek(ACCOUNT), { allowed: true, limit: 60, remaining: 60 });
  t.like(limiter.peek({ kind: 'address', subject: '192.0.2.1', nowMs: NOON_MS }), { allowed: true, remaining: 60 });
  t.deepEqual(limiter.tracked, { accounts: 0, addresses: 0, keys: 0 });
  t.deepEqual(limiter.drainUsage(), []);

  limiter.admit(ACCOUNT);
  t.like(limiter.peek(ACCOUNT), { remaining: 59 });
  t.like(limiter.admit(ACCOUNT), { remaining: 58 });
});

test('Memory - a flood of addresses is bounded, and those past the bound share one quota', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  fromAddress(limiter, 'early');
  let admitted = 0;
  for (let i = 0; i < 100_000; i += 1) if (fromAddress(limiter, `flood ${i}`).allowed) admitted += 1;
  t.is(limiter.tracked.addresses, 1_000);
  t.is(admitted, 999 + 60);
  t.like(fromAddress(limiter, 'early'), { allowed: true, remaining: 58 });
});

test('Memory - the flood is over with its minute', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  for (let i = 0; i < 100_000; i += 1) fromAddress(limiter, `flood ${i}`);
  t.like(fromAddress(limiter, 'newcomer', NOON_MS + 60_000), { allowed: true, remaining: 59 });
  t.is(limiter.tracked.addresses, 1);
});

test('Memory - a flood of addresses takes nothing from an account', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  limiter.admit(ACCOUNT);
  for (let i = 0; i < 100_000; i += 1) fromAddress(limiter, `flood ${i}`);
  t.like(limiter.admit(ACCOUNT), { allowed: true, remaining: 58 });
});

test('Memory - the accounts of a day are dropped when the next begins', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  for (let i = 0; i < 1_000; i += 1) limiter.admit({ ...ACCOUNT, subject: `acc ${i}` });
  t.is(limiter.tracked.accounts, 1_000);
  limiter.admit({ ...ACCOUNT, nowMs: MIDNIGHT_MS });
  t.is(limiter.tracked.accounts, 1);
});
