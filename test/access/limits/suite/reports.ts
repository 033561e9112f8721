/** What a limiter reports of accounts and keys: bans, usage, counts. */
import type { TestFn } from 'ava';
import { MIDNIGHT, type Sent, send } from './rules.ts';
import {
  ACCOUNT,
  ACCOUNT_ID,
  BAN_MS,
  countAdmitted,
  DAY_INDEX,
  KEY_ID,
  NOON_MS,
  type Open,
  OTHER_KEY,
  ofAddress,
} from './setup.ts';

export function reportTests(test: TestFn, open: Open): void {
  test('Ban - begins with one decision, which tells the window whose limit was exceeded', async (t) => {
    for (const [window, perDay] of [
      ['minute', 1_000],
      ['day', 5],
    ] as const) {
      const limiter = await open(t);
      const bans: unknown[] = [];
      for (let i = 0; i < 130; i += 1) {
        const decision = await limiter.admit({ ...ACCOUNT, quota: { perMinute: 60, perDay } });
        if (decision.begunBan !== undefined) bans.push(decision.begunBan);
      }
      t.deepEqual(bans, [{ keyId: KEY_ID, untilMs: NOON_MS + BAN_MS, durationMs: BAN_MS, refusals: 20, window }]);
    }
  });

  test('Usage - a drain returns the totals of the accounts and the keys that were used since the last', async (t) => {
    const limiter = await open(t);
    const midnightMs = NOON_MS + MIDNIGHT;
    const use = async (times: number, sent: Sent) => {
      for (let i = 0; i < times; i += 1) await send(limiter, sent);
      return limiter.drain();
    };
    const [accountId, keyId] = [ACCOUNT_ID, KEY_ID];
    const total = (dayIndex: number, requests: number, refused = 0) => ({ accountId, dayIndex, requests, refused });
    t.deepEqual(await use(85, {}), {
      usage: [total(DAY_INDEX, 60, 25)], // with five requests during the ban
      keyUses: [{ keyId, lastUsedAtMs: NOON_MS }],
    });
    t.deepEqual(await use(5, { address: '192.0.2.1' }), { usage: [], keyUses: [] });
    t.deepEqual(await use(1, { at: 1, keyId: OTHER_KEY }), {
      usage: [total(DAY_INDEX, 60, 26)],
      keyUses: [{ keyId: OTHER_KEY, lastUsedAtMs: NOON_MS + 1 }],
    });
    await send(limiter, { at: MIDNIGHT - 1 });
    t.deepEqual(await use(1, { at: MIDNIGHT }), {
      usage: [total(DAY_INDEX, 61, 26), total(DAY_INDEX + 1, 1)],
      keyUses: [{ keyId, lastUsedAtMs: midnightMs }],
    });
  });

  test('Counts - of the minute, the day and the refusals are shown, and nothing is counted by looking', async (t) => {
    const limiter = await open(t);
    for (let i = 0; i < 63; i += 1) await send(limiter, {});
    await send(limiter, { at: 60_000 });
    limiter.drain();
    for (const [atMs, minuteCount, dayCount, refused] of [
      [60_000, 1, 61, 3],
      [120_000, 0, 61, 3],
      [MIDNIGHT, 0, 0, 0],
    ] as const) {
      const minuteIndex = (NOON_MS + atMs) / 60_000;
      const counter = { minuteIndex, minuteCount, dayIndex: Math.floor(minuteIndex / 1_440), dayCount, refused };
      t.deepEqual(await limiter.counts(ACCOUNT_ID, NOON_MS + atMs), { counter, isLocal: false });
    }
    t.deepEqual(limiter.drain(), { usage: [], keyUses: [] });
  });

  test('Addresses - beyond the maximum in a minute share one quota, and cost no account anything', async (t) => {
    const limiter = await open(t, { maxAddresses: 100 });
    const addresses = Array.from({ length: 500 }, (_, index) => send(limiter, { address: `${index}` }));
    t.is(countAdmitted(await Promise.all(addresses)), 100 + 60);
    t.like(await send(limiter, { address: '0' }), { allowed: true, remaining: 58 });
    const shown = await limiter.peek(ofAddress('one more'));
    t.like(shown, { allowed: false, remaining: 0 });
    t.like(await send(limiter, {}), { allowed: true, remaining: 59 });
    t.like(await send(limiter, { address: 'newcomer', at: 60_000 }), { allowed: true, remaining: 59 });
  });
}
