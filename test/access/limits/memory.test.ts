/** The memory limiter: the rules of all limiters, and the bounds of its memory. */
import test from 'ava';
import { BanTracker } from '../../../src/access/limits/ban-tracker.ts';
import { createMemoryLimiter } from '../../../src/access/limits/memory.ts';
import { newCounter } from '../../../src/access/limits/windows.ts';
import { toKeyId } from '../../../src/rpc/caller.ts';
import { reportTests } from './suite/reports.ts';
import { ruleTests } from './suite/rules.ts';
import { ACCOUNT, KEY_ID, NOON_MS, OPTIONS, type Open, OTHER_KEY } from './suite/setup.ts';

const open: Open = async (_t, options) => createMemoryLimiter({ ...OPTIONS, ...options });
ruleTests(test, open);
reportTests(test, open);

test('Memory - a flood of addresses shares one quota beyond the bound, until its minute ends', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  const admit = (address: string, nowMs = NOON_MS) => limiter.admit({ kind: 'address', address, nowMs });
  admit('early');
  limiter.admit(ACCOUNT);
  for (let i = 0; i < 10_000; i += 1) limiter.peek({ kind: 'address', address: `read ${i}`, nowMs: NOON_MS });
  let admitted = 0;
  for (let i = 0; i < 100_000; i += 1) if (admit(`flood ${i}`).allowed) admitted += 1;
  t.is(admitted, 999 + 60);
  t.like(admit('early'), { allowed: true, remaining: 58 });
  t.like(limiter.admit(ACCOUNT), { allowed: true, remaining: 58 });
  t.like(admit('newcomer', NOON_MS + 60_000), { allowed: true, remaining: 59 });
});

test('Memory - what Redis replied keeps its windows until it is used, whatever the clock of this server says', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  const counter = { ...newCounter(NOON_MS), minuteCount: 40, dayCount: 50 };
  for (const attempt of [ACCOUNT, { kind: 'address', address: '192.0.2.1', nowMs: NOON_MS + 60_000 }] as const) {
    limiter.learn({ ...attempt, nowMs: NOON_MS + 60_000 }, { counter, bannedUntilMs: 0, nowMs: NOON_MS });
    t.deepEqual(limiter.known(attempt, NOON_MS + 60_000).counter, counter);
  }
  t.like(limiter.admit({ ...ACCOUNT, nowMs: NOON_MS + 60_000 }), { allowed: true, remaining: 59 });
});

test('Memory - idle keys are dropped, with bans that have ended', (t) => {
  const bans = new BanTracker(OPTIONS.ban);
  for (let i = 0; i < 1_000; i += 1) bans.restore(toKeyId(BigInt(-i)), NOON_MS + 300_000, NOON_MS);
  for (let i = 0; i < 100_000; i += 1) bans.recordRefusal(toKeyId(BigInt(i)), NOON_MS + i * 600);
  t.true(bans.size <= 300, `${bans.size} keys are held`);
});

test('Memory - a banned key is never dropped before its ban ends', (t) => {
  const bans = new BanTracker(OPTIONS.ban);
  for (let i = 0; i < 20; i += 1) bans.recordRefusal(KEY_ID, NOON_MS);
  bans.restore(OTHER_KEY, NOON_MS + 300_000, NOON_MS);
  for (let i = 0; i < 1_000; i += 1) bans.recordRefusal(toKeyId(BigInt(1_000 + i)), NOON_MS + i * 299);
  for (const key of [KEY_ID, OTHER_KEY]) t.is(bans.bannedUntil(key, NOON_MS + 299_999), NOON_MS + 300_000);
});
