/** What the operator can read and change: counts, last uses of keys, bans. */
import { minuteIndexAt } from '../../../../src/access/limits/windows.ts';
import type { Ban, KeyUse } from '../../../../src/access/tables/model.ts';
import { ban } from './bans.ts';
import {
  ACCOUNT,
  ACCOUNT_ID,
  DAY_INDEX,
  KEY_ID,
  type LimitsTest,
  MIDNIGHT_MS,
  NOON_MS,
  OTHER_KEY,
  repeat,
} from './setup.ts';

const NEXT_MINUTE = { ...ACCOUNT, nowMs: NOON_MS + 60_000 };

function countsOf(minuteIndex: number, minuteCount: number, dayIndex: number, dayCount: number, refused: number) {
  return { minuteIndex, minuteCount, dayIndex, dayCount, refused };
}

export function overviewTests(test: LimitsTest): void {
  test('Counts - contain the minute, the day and the refusals', async (t) => {
    const limiter = await t.context.open();
    await repeat(limiter, 63, ACCOUNT);
    await repeat(limiter, 5, NEXT_MINUTE);
    const counter = countsOf(minuteIndexAt(NOON_MS) + 1, 5, DAY_INDEX, 65, 3);
    t.deepEqual(await limiter.counts(ACCOUNT_ID, NOON_MS + 60_000), { counter, isLocal: false });
  });

  test('Counts - of a minute or a day that has just begun are zero', async (t) => {
    const limiter = await t.context.open();
    await repeat(limiter, 63, ACCOUNT);
    const later = NOON_MS + 120_000;
    const counter = countsOf(minuteIndexAt(later), 0, DAY_INDEX, 60, 3);
    t.deepEqual(await limiter.counts(ACCOUNT_ID, later), { counter, isLocal: false });
    const tomorrow = countsOf(minuteIndexAt(MIDNIGHT_MS), 0, DAY_INDEX + 1, 0, 0);
    t.deepEqual(await limiter.counts(ACCOUNT_ID, MIDNIGHT_MS), { counter: tomorrow, isLocal: false });
  });

  test('Counts - reading them counts nothing and changes nothing', async (t) => {
    const limiter = await t.context.open();
    for (let i = 0; i < 100; i += 1) await limiter.counts(ACCOUNT_ID, NOON_MS);
    t.deepEqual(limiter.drain().usage, []);
    t.deepEqual(limiter.drain().keyUses, []);
    t.like(await limiter.admit(ACCOUNT), { allowed: true, remaining: 59 });
  });

  test('Counts - stored counts are restored', async (t) => {
    const limiter = await t.context.open();
    limiter.restoreUsage([{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 7, refused: 2 }]);
    const counter = countsOf(minuteIndexAt(NOON_MS), 0, DAY_INDEX, 7, 2);
    t.deepEqual(await limiter.counts(ACCOUNT_ID, NOON_MS), { counter, isLocal: false });
  });

  test('Key uses - are the latest of each key, including refused and banned requests, and drained once', async (t) => {
    const limiter = await t.context.open();
    await limiter.admit({ ...ACCOUNT, keyId: OTHER_KEY });
    await ban(limiter);
    await limiter.admit({ ...ACCOUNT, nowMs: NOON_MS + 1_000 });
    const byKey = (uses: readonly KeyUse[]) => new Map(uses.map(({ keyId, lastUsedAtMs }) => [keyId, lastUsedAtMs]));
    t.deepEqual(
      byKey(limiter.drain().keyUses),
      new Map([
        [OTHER_KEY, NOON_MS],
        [KEY_ID, NOON_MS + 1_000],
      ]),
    );
    t.deepEqual(limiter.drain().keyUses, []);
    await limiter.peek(ACCOUNT);
    t.deepEqual(limiter.drain().keyUses, []);
  });

  test('Unban - the key works at once, with the remaining quota of its account', async (t) => {
    const limiter = await t.context.open();
    await ban(limiter);
    t.true('bannedUntilMs' in (await limiter.admit(NEXT_MINUTE)));
    t.is(await limiter.unban(ACCOUNT_ID, KEY_ID, NEXT_MINUTE.nowMs), NEXT_MINUTE.nowMs + 300_000);
    t.like(await limiter.admit(NEXT_MINUTE), { allowed: true, remaining: 59 });
  });

  test('Unban - refusals count from zero again: 19 do not ban, the 20th does', async (t) => {
    const bans: Ban[] = [];
    const limiter = await t.context.open({ onBan: (begun) => bans.push(begun) });
    await ban(limiter);
    await limiter.unban(ACCOUNT_ID, KEY_ID, NOON_MS);
    await repeat(limiter, 19, ACCOUNT);
    t.is(bans.length, 1);
    t.false('bannedUntilMs' in (await limiter.admit(ACCOUNT)));
    t.is(bans.length, 2);
    t.true('bannedUntilMs' in (await limiter.admit(ACCOUNT)));
  });

  test('Unban - deletes the refusals of a key that is not banned yet', async (t) => {
    const limiter = await t.context.open();
    await repeat(limiter, 79, ACCOUNT);
    await limiter.unban(ACCOUNT_ID, KEY_ID, NOON_MS);
    await repeat(limiter, 20, ACCOUNT);
    t.true('bannedUntilMs' in (await limiter.admit(ACCOUNT)));
  });

  test('Unban - affects only one key', async (t) => {
    const limiter = await t.context.open();
    await ban(limiter);
    await repeat(limiter, 20, { ...ACCOUNT, keyId: OTHER_KEY });
    await limiter.unban(ACCOUNT_ID, KEY_ID, NOON_MS);
    t.true('bannedUntilMs' in (await limiter.admit({ ...NEXT_MINUTE, keyId: OTHER_KEY })));
    t.true((await limiter.admit(NEXT_MINUTE)).allowed);
  });

  test('Unban - ends a restored ban, too', async (t) => {
    const limiter = await t.context.open();
    limiter.restoreBans([{ keyId: KEY_ID, untilMs: NOON_MS + 300_000 }]);
    await limiter.unban(ACCOUNT_ID, KEY_ID, NOON_MS);
    t.true((await limiter.admit(ACCOUNT)).allowed);
  });
}
