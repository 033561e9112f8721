/** A clock that jumps, as the limiter is told of it: it costs one window at the most. */
import type { ManagedLimiter } from '../../../src/limits/limiter.ts';
import { until } from '../../support/until.ts';
import { ACCOUNT, ACCOUNT_ID, DAY_INDEX, fromAddress, KEY_ID, type LimitsTest, NOON_MS, repeat } from './setup.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LARGE = { ...ACCOUNT, quota: { perMinute: 60, perDay: 1_000 } };

/** Sends until one is refused: how many passed, and the wait that the refusal tells. */
async function useUp(limiter: ManagedLimiter, nowMs: number) {
  for (let passed = 0; passed <= 60; passed += 1) {
    const decision = await limiter.admit({ ...LARGE, nowMs });
    if (!decision.allowed) return { passed, waitMs: decision.retryAfterSeconds * 1_000 };
  }
  throw new Error('more than a minute’s quota passed');
}

/** Whether the minute of this moment may be a spoilt one, its end is told, and all that follow are whole. */
async function isSound(limiter: ManagedLimiter, nowMs: number): Promise<boolean> {
  const { waitMs } = await useUp(limiter, nowMs);
  const [next, afterNext] = [await useUp(limiter, nowMs + waitMs), await useUp(limiter, nowMs + waitMs + 60_000)];
  return waitMs === 60_000 - (nowMs % 60_000) && next.passed === 60 && afterNext.passed === 60;
}

export function jumpTests(test: LimitsTest): void {
  for (const [name, aheadMs] of [
    ['an hour', HOUR_MS],
    ['a day', DAY_MS],
  ] as const) {
    test(`Clock jump - one reading ${name} ahead costs one minute at the most, and Retry-After is true`, async (t) => {
      const limiter = await t.context.open();
      await repeat(limiter, 10, LARGE);
      await limiter.admit({ ...LARGE, nowMs: NOON_MS + aheadMs });
      t.true(await isSound(limiter, NOON_MS + 1_000));
    });

    test(`Clock jump - ${name} ahead for good, then ${name} back, costs one minute each at the most`, async (t) => {
      const limiter = await t.context.open();
      await repeat(limiter, 60, LARGE);
      t.true(await isSound(limiter, NOON_MS + aheadMs));
      t.true(await isSound(limiter, NOON_MS + 2_000));
    });

    test(`Clock jump - a ban of a time ${name} ahead is over when the clock is right again`, async (t) => {
      const limiter = await t.context.open();
      t.true('bannedUntilMs' in (await repeat(limiter, 81, { ...LARGE, nowMs: NOON_MS + aheadMs })));
      t.true((await limiter.admit({ ...LARGE, nowMs: NOON_MS + 1_000 })).allowed);
      const restarted = await t.context.open();
      restarted.restoreBans([{ keyId: KEY_ID, untilMs: NOON_MS + aheadMs + 300_000 }]);
      t.true((await restarted.admit(LARGE)).allowed);
    });

    test(`Clock jump - refusals of a time ${name} ahead ban nobody later`, async (t) => {
      const limiter = await t.context.open();
      await repeat(limiter, 79, { ...LARGE, nowMs: NOON_MS + aheadMs });
      await repeat(limiter, 61, LARGE);
      t.false('bannedUntilMs' in (await limiter.admit(LARGE)));
    });

    test(`Clock jump - addresses go on after a reading ${name} ahead`, async (t) => {
      const limiter = await t.context.open();
      await fromAddress(limiter, '192.0.2.1', NOON_MS + aheadMs);
      for (let i = 0; i < 60; i += 1) t.true((await fromAddress(limiter, '192.0.2.1', NOON_MS + 1_000)).allowed);
      t.like(await fromAddress(limiter, '192.0.2.1', NOON_MS + 1_000), { allowed: false, retryAfterSeconds: 59 });
      t.true((await fromAddress(limiter, '192.0.2.1', NOON_MS + 60_000)).allowed);
    });
  }

  test('Clock jump - a day ahead and back, the day’s count goes on, and usage is booked on the day it is of', async (t) => {
    const limiter = await t.context.open();
    const attempt = { ...ACCOUNT, quota: { perMinute: 60, perDay: 40 } };
    await repeat(limiter, 30, attempt);
    await repeat(limiter, 2, { ...attempt, nowMs: NOON_MS + DAY_MS });
    await limiter.admit({ ...attempt, nowMs: NOON_MS + 60_000 });
    const left = async () => (await limiter.peek({ ...attempt, nowMs: NOON_MS + 60_000 })).remaining;
    await until(async () => (await left()) === 9, 'what was counted before');
    const usage = [
      { accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 31, refused: 0 },
      { accountId: ACCOUNT_ID, dayIndex: DAY_INDEX + 1, requests: 2, refused: 0 },
    ];
    t.deepEqual(
      limiter.drainUsage().sort((one, other) => one.dayIndex - other.dayIndex),
      usage,
    );
  });
}
