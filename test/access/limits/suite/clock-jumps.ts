/** A jump of the clock that the limiter is called with: it costs one window at most. */
import type { ManagedLimiter } from '../../../../src/access/limits/limiter.ts';
import { until } from '../../../support/until.ts';
import { ACCOUNT, ACCOUNT_ID, DAY_INDEX, fromAddress, KEY_ID, type LimitsTest, NOON_MS, repeat } from './setup.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LARGE = { ...ACCOUNT, quota: { perMinute: 60, perDay: 1_000 } };

/** Sends requests until one is refused. Returns how many were admitted, and the refusal's Retry-After. */
async function useUp(limiter: ManagedLimiter, nowMs: number) {
  for (let passed = 0; passed <= 60; passed += 1) {
    const decision = await limiter.admit({ ...LARGE, nowMs });
    if (!decision.allowed) return { passed, waitMs: decision.retryAfterSeconds * 1_000 };
  }
  throw new Error('more than the quota of a minute was admitted');
}

/** Whether Retry-After is right in this minute, and the next two minutes have the whole quota. */
async function isRecovered(limiter: ManagedLimiter, nowMs: number): Promise<boolean> {
  const { waitMs } = await useUp(limiter, nowMs);
  const [next, afterNext] = [await useUp(limiter, nowMs + waitMs), await useUp(limiter, nowMs + waitMs + 60_000)];
  return waitMs === 60_000 - (nowMs % 60_000) && next.passed === 60 && afterNext.passed === 60;
}

export function jumpTests(test: LimitsTest): void {
  for (const [name, aheadMs] of [
    ['an hour', HOUR_MS],
    ['a day', DAY_MS],
  ] as const) {
    test(`Clock jump - one reading ${name} ahead costs one minute at most, and Retry-After is right`, async (t) => {
      const limiter = await t.context.open();
      await repeat(limiter, 10, LARGE);
      await limiter.admit({ ...LARGE, nowMs: NOON_MS + aheadMs });
      t.true(await isRecovered(limiter, NOON_MS + 1_000));
    });

    test(`Clock jump - ${name} ahead for good, then ${name} back, costs one minute each at most`, async (t) => {
      const limiter = await t.context.open();
      await repeat(limiter, 60, LARGE);
      t.true(await isRecovered(limiter, NOON_MS + aheadMs));
      t.true(await isRecovered(limiter, NOON_MS + 2_000));
    });

    test(`Clock jump - a ban set ${name} ahead has ended once the clock is right again`, async (t) => {
      const limiter = await t.context.open();
      t.true('bannedUntilMs' in (await repeat(limiter, 81, { ...LARGE, nowMs: NOON_MS + aheadMs })));
      t.true((await limiter.admit({ ...LARGE, nowMs: NOON_MS + 1_000 })).allowed);
      const restarted = await t.context.open();
      restarted.restoreBans([{ keyId: KEY_ID, untilMs: NOON_MS + aheadMs + 300_000 }]);
      t.true((await restarted.admit(LARGE)).allowed);
    });

    test(`Clock jump - refusals recorded ${name} ahead ban no key later`, async (t) => {
      const limiter = await t.context.open();
      await repeat(limiter, 79, { ...LARGE, nowMs: NOON_MS + aheadMs });
      await repeat(limiter, 61, LARGE);
      t.false('bannedUntilMs' in (await limiter.admit(LARGE)));
    });

    test(`Clock jump - addresses are limited as before after a reading ${name} ahead`, async (t) => {
      const limiter = await t.context.open();
      await fromAddress(limiter, '192.0.2.1', NOON_MS + aheadMs);
      for (let i = 0; i < 60; i += 1) t.true((await fromAddress(limiter, '192.0.2.1', NOON_MS + 1_000)).allowed);
      t.like(await fromAddress(limiter, '192.0.2.1', NOON_MS + 1_000), { allowed: false, retryAfterSeconds: 59 });
      t.true((await fromAddress(limiter, '192.0.2.1', NOON_MS + 60_000)).allowed);
    });
  }

  test('Clock jump - a day ahead and back, the day’s count continues, and usage counts on its own day', async (t) => {
    const limiter = await t.context.open();
    const attempt = { ...ACCOUNT, quota: { perMinute: 60, perDay: 40 } };
    await repeat(limiter, 30, attempt);
    await repeat(limiter, 2, { ...attempt, nowMs: NOON_MS + DAY_MS });
    await limiter.admit({ ...attempt, nowMs: NOON_MS + 60_000 });
    const left = async () => (await limiter.peek({ ...attempt, nowMs: NOON_MS + 60_000 })).remaining;
    await until(async () => (await left()) === 9, 'the counts from before');
    const usage = [
      { accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 31, refused: 0 },
      { accountId: ACCOUNT_ID, dayIndex: DAY_INDEX + 1, requests: 2, refused: 0 },
    ];
    t.deepEqual(
      limiter.drain().usage.toSorted((one, other) => one.dayIndex - other.dayIndex),
      usage,
    );
  });
}
