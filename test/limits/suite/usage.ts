/** The totals that outlive the engine. */
import {
  ACCOUNT,
  ACCOUNT_ID,
  DAY_INDEX,
  fromAddress,
  type LimitsTest,
  MIDNIGHT_MS,
  OTHER_ACCOUNT,
  repeat,
} from './setup.ts';

export function usageTests(test: LimitsTest): void {
  test('Usage - a drain gives the totals of the day, refusals and bans among them', async (t) => {
    const limiter = await t.context.open();
    await repeat(limiter, 85, ACCOUNT);
    t.deepEqual(limiter.drainUsage(), [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 60, refused: 25 }]);
  });

  test('Usage - a drain gives only what changed since the last, as totals', async (t) => {
    const limiter = await t.context.open();
    await limiter.admit(ACCOUNT);
    await limiter.admit({ ...ACCOUNT, accountId: OTHER_ACCOUNT });
    limiter.drainUsage();
    t.deepEqual(limiter.drainUsage(), []);
    await limiter.admit(ACCOUNT);
    t.deepEqual(limiter.drainUsage(), [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 2, refused: 0 }]);
  });

  test('Usage - what was counted just before midnight is drained after it, as the day it belongs to', async (t) => {
    const limiter = await t.context.open();
    await limiter.admit({ ...ACCOUNT, nowMs: MIDNIGHT_MS - 1 });
    await limiter.admit({ ...ACCOUNT, nowMs: MIDNIGHT_MS });
    t.deepEqual(limiter.drainUsage(), [
      { accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 1, refused: 0 },
      { accountId: ACCOUNT_ID, dayIndex: DAY_INDEX + 1, requests: 1, refused: 0 },
    ]);
  });

  test('Usage - none is kept of addresses', async (t) => {
    const limiter = await t.context.open();
    await fromAddress(limiter, '192.0.2.1');
    t.deepEqual(limiter.drainUsage(), []);
  });

  test('Usage - the day’s count survives a restart', async (t) => {
    const attempt = { ...ACCOUNT, quota: { perMinute: 60, perDay: 70 } };
    const limiter = await t.context.open();
    await repeat(limiter, 61, attempt);
    const restarted = await t.context.open();
    await restarted.restoreUsage(limiter.drainUsage());
    t.like(await repeat(restarted, 10, attempt), { allowed: true, window: 'day', remaining: 0 });
    t.like(await restarted.admit(attempt), { allowed: false, window: 'day', limit: 70 });
    t.deepEqual(restarted.drainUsage(), [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 70, refused: 2 }]);
  });

  test('Usage - the count of a day that is over is not taken up', async (t) => {
    const limiter = await t.context.open();
    await limiter.restoreUsage([
      { accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 5, refused: 5 },
      { accountId: OTHER_ACCOUNT, dayIndex: DAY_INDEX - 1, requests: 9, refused: 9 },
    ]);
    await limiter.admit({ ...ACCOUNT, nowMs: MIDNIGHT_MS });
    t.deepEqual(limiter.drainUsage(), [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX + 1, requests: 1, refused: 0 }]);
  });
}
