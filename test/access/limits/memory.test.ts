/** The memory limiter: the rules of all limiters, and the bounds of its memory. */
import test from 'ava';
import { createBanTracker } from '../../../src/platform/access/limits/ban-tracker.ts';
import { createMemoryLimiter } from '../../../src/platform/access/limits/memory.ts';
import { toKeyId } from '../../../src/platform/rpc/caller.ts';
import { KEY_ID, limiterTests, NOON_MS, OPTIONS, type Open, OTHER_KEY } from './suite/rules.ts';

const open: Open = async (_t, options) => createMemoryLimiter({ ...OPTIONS, ...options });
limiterTests(test, open);

test('Memory - idle keys are dropped, with bans that have ended', (t) => {
  const bans = createBanTracker(OPTIONS.ban);
  for (let i = 0; i < 1_000; i += 1) bans.restore(toKeyId(BigInt(-i)), NOON_MS + 300_000, NOON_MS);
  for (let i = 0; i < 100_000; i += 1) bans.recordRefusal(toKeyId(BigInt(i)), NOON_MS + i * 600);
  t.true(bans.size() <= 300, `${bans.size()} keys are held`);
  const others = createBanTracker(OPTIONS.ban);
  const ends = [0, ...Array<number>(18).fill(50_000), 70_000, 70_000].map((atMs, index) => {
    others.recordRefusal(toKeyId(BigInt(100 + index)), NOON_MS + atMs); // a new key: those that are idle are dropped
    return others.recordRefusal(KEY_ID, NOON_MS + atMs);
  });
  t.true(Number(ends.at(-1)) > 0, 'one whose last refusal is recent is not idle');
});

test('Memory - a banned key is never dropped before its ban ends', (t) => {
  const bans = createBanTracker(OPTIONS.ban);
  for (let i = 0; i < 20; i += 1) bans.recordRefusal(KEY_ID, NOON_MS);
  bans.restore(OTHER_KEY, NOON_MS + 300_000, NOON_MS);
  for (let i = 0; i < 1_000; i += 1) bans.recordRefusal(toKeyId(BigInt(1_000 + i)), NOON_MS + i * 299);
  for (const key of [KEY_ID, OTHER_KEY]) t.is(bans.bannedUntil(key, NOON_MS + 299_999), NOON_MS + 300_000);
});
