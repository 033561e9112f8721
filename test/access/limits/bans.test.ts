import assert from 'node:assert/strict';
import test from 'ava';
import fc from 'fast-check';
import { BanTracker } from '../../../src/access/limits/ban-tracker.ts';
import type { BanPolicy } from '../../../src/access/tables/model.ts';
import { type KeyId, toKeyId } from '../../../src/rpc/caller.ts';

const POLICY: BanPolicy = { refusals: 20, windowMs: 60_000, durationMs: 300_000 };
const START_MS = Date.UTC(2026, 6, 1, 12);
const [KEY, OTHER_KEY] = [toKeyId(1n), toKeyId(2n)];

/** Records a number of refusals at one moment. Returns the last result. */
function refuse(bans: BanTracker, key: KeyId, times: number, nowMs: number): number | undefined {
  let result: number | undefined;
  for (let i = 0; i < times; i += 1) result = bans.recordRefusal(key, nowMs);
  return result;
}

test('Ban - the 20th refusal within a minute bans for 5 minutes, the 19th does not', (t) => {
  const bans = new BanTracker(POLICY);
  t.is(refuse(bans, KEY, 19, START_MS), undefined);
  t.is(bans.bannedUntil(KEY, START_MS), undefined);
  t.is(bans.recordRefusal(KEY, START_MS + 10), START_MS + 10 + 300_000);
  t.is(bans.bannedUntil(KEY, START_MS + 10), START_MS + 10 + 300_000);
});

test('Ban - 20 refusals exactly a minute apart, first to last, ban', (t) => {
  const bans = new BanTracker(POLICY);
  refuse(bans, KEY, 19, START_MS);
  t.is(bans.recordRefusal(KEY, START_MS + 60_000), START_MS + 360_000);
});

test('Ban - 20 refusals over more than a minute do not ban', (t) => {
  const bans = new BanTracker(POLICY);
  bans.recordRefusal(KEY, START_MS);
  t.is(refuse(bans, KEY, 19, START_MS + 60_001), undefined);
});

test('Ban - the minute slides: it is not aligned to a window', (t) => {
  const bans = new BanTracker(POLICY);
  refuse(bans, KEY, 10, START_MS + 59_000);
  t.is(refuse(bans, KEY, 10, START_MS + 61_000), START_MS + 361_000);
});

test('Ban - a steady trickle of refusals below the rate never bans', (t) => {
  const bans = new BanTracker(POLICY);
  for (let i = 0; i < 1_000; i += 1) t.is(bans.recordRefusal(KEY, START_MS + i * 3_200), undefined);
});

test('Ban - ends to the millisecond', (t) => {
  const bans = new BanTracker(POLICY);
  refuse(bans, KEY, 20, START_MS);
  t.is(bans.bannedUntil(KEY, START_MS + 299_999), START_MS + 300_000);
  t.is(bans.bannedUntil(KEY, START_MS + 300_000), undefined);
});

test('Ban - after it the refusals start from zero', (t) => {
  const bans = new BanTracker({ ...POLICY, durationMs: 1_000 });
  refuse(bans, KEY, 20, START_MS);
  refuse(bans, KEY, 100, START_MS + 999);
  t.is(refuse(bans, KEY, 19, START_MS + 1_000), undefined);
  t.is(bans.recordRefusal(KEY, START_MS + 1_000), START_MS + 2_000);
});

test('Ban - a policy of one refusal bans at the first', (t) => {
  const bans = new BanTracker({ ...POLICY, refusals: 1 });
  t.is(bans.recordRefusal(KEY, START_MS), START_MS + 300_000);
});

test('Restored ban - holds until its end, and the refusals start from zero after it', (t) => {
  const bans = new BanTracker(POLICY);
  bans.restore(KEY, START_MS + 1_000, START_MS);
  t.is(bans.bannedUntil(KEY, START_MS + 999), START_MS + 1_000);
  t.is(bans.recordRefusal(KEY, START_MS + 999), START_MS + 1_000);
  t.is(bans.bannedUntil(KEY, START_MS + 1_000), undefined);
  t.is(refuse(bans, KEY, 19, START_MS + 1_000), undefined);
});

test('Restored ban - one that has ended is ignored', (t) => {
  const bans = new BanTracker(POLICY);
  bans.restore(KEY, START_MS - 1, START_MS);
  t.is(bans.bannedUntil(KEY, START_MS), undefined);
});

test('Memory - idle keys are dropped', (t) => {
  const bans = new BanTracker(POLICY);
  const refusalsPerMinute = 100;
  for (let i = 0; i < 100_000; i += 1)
    bans.recordRefusal(toKeyId(BigInt(i)), START_MS + i * (60_000 / refusalsPerMinute));
  t.true(bans.size <= 3 * refusalsPerMinute, `${bans.size} keys are held`);
});

test('Memory - keys whose bans were restored are dropped once their bans have ended', (t) => {
  const bans = new BanTracker(POLICY);
  for (let i = 0; i < 1_000; i += 1) bans.restore(toKeyId(BigInt(i)), START_MS + 300_000, START_MS);
  t.is(bans.size, 1_000);
  bans.restore(toKeyId(2_000n), START_MS + 600_000, START_MS + 300_000);
  t.is(bans.size, 1);
});

test('Restored ban - one that ends later than a new one does not hold, until it could have begun', (t) => {
  const bans = new BanTracker(POLICY);
  bans.restore(KEY, START_MS + 300_001, START_MS);
  t.is(bans.bannedUntil(KEY, START_MS), undefined);
  t.is(bans.bannedUntil(KEY, START_MS + 1), START_MS + 300_001);
});

test('Memory - a banned key is never dropped before its ban ends', (t) => {
  const bans = new BanTracker(POLICY);
  refuse(bans, KEY, 20, START_MS);
  bans.restore(OTHER_KEY, START_MS + 300_000, START_MS);
  for (let i = 0; i < 1_000; i += 1) bans.recordRefusal(toKeyId(BigInt(1_000 + i)), START_MS + i * 299);
  for (const key of [KEY, OTHER_KEY]) t.is(bans.bannedUntil(key, START_MS + 299_999), START_MS + 300_000);
});

// `assert` and not `t` inside a property: fast-check then reports the smallest sequence that fails.
test('Model - any sequence of refusals agrees with a list of their times', (t) => {
  const policy = { refusals: 4, windowMs: 100, durationMs: 250 };
  const step = fc.record({ advanceMs: fc.integer({ min: 0, max: 60 }), key: fc.constantFrom(KEY, OTHER_KEY) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const bans = new BanTracker(policy);
      const timesMs = new Map<KeyId, number[]>();
      const untilMs = new Map<KeyId, number>();
      let nowMs = START_MS;
      for (const { advanceMs, key } of steps) {
        nowMs += advanceMs;
        const running = untilMs.get(key) ?? 0;
        let expected = nowMs < running ? running : undefined;
        assert.equal(bans.bannedUntil(key, nowMs), expected);
        if (expected === undefined) {
          const times = [...(timesMs.get(key) ?? []), nowMs];
          const isBanned = times.filter((time) => time >= nowMs - policy.windowMs).length >= policy.refusals;
          timesMs.set(key, isBanned ? [] : times);
          if (isBanned) {
            expected = nowMs + policy.durationMs;
            untilMs.set(key, expected);
          }
        }
        assert.equal(bans.recordRefusal(key, nowMs), expected);
      }
    }),
    { numRuns: 300, includeErrorInReport: true },
  );
  t.pass();
});
