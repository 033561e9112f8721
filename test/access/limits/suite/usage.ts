/** The totals that are stored and restored. */
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
  test('Usage - a drain returns the totals of the day, including refusals and bans', async (t) => {
    const limiter = await t.context.open();
    await repeat(limiter, 85, ACCOUNT);
    t.deepEqual(limiter.drain().usage, [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 60, refused: 25 }]);
  });

  test('Usage - a drain returns only accounts that changed since the last, with their totals', async (t) => {
    const limiter = await t.context.open();
    await limiter.admit(ACCOUNT);
    await limiter.admit({ ...ACCOUNT, accountId: OTHER_ACCOUNT });
    limiter.drain().usage;
    t.deepEqual(limiter.drain().usage, []);
    await limiter.admit(ACCOUNT);
    t.deepEqual(limiter.drain().usage, [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 2, refused: 0 }]);
  });

  test('Usage - counts from just before midnight are drained after it, with their own day', async (t) => {
    const limiter = await t.context.open();
    await limiter.admit({ ...ACCOUNT, nowMs: MIDNIGHT_MS - 1 });
    await limiter.admit({ ...ACCOUNT, nowMs: MIDNIGHT_MS });
    t.deepEqual(limiter.drain().usage, [
      { accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 1, refused: 0 },
      { accountId: ACCOUNT_ID, dayIndex: DAY_INDEX + 1, requests: 1, refused: 0 },
    ]);
  });

  test('Usage - does not include addresses', async (t) => {
    const limiter = await t.context.open();
    await fromAddress(limiter, '192.0.2.1');
    t.deepEqual(limiter.drain().usage, []);
  });

  test('Usage - the day’s count survives a restart', async (t) => {
    const attempt = { ...ACCOUNT, quota: { perMinute: 60, perDay: 70 } };
    const limiter = await t.context.open();
    await repeat(limiter, 61, attempt);
    const restarted = await t.context.open();
    await restarted.restoreUsage(limiter.drain().usage);
    t.like(await repeat(restarted, 10, attempt), { allowed: true, window: 'day', remaining: 0 });
    t.like(await restarted.admit(attempt), { allowed: false, window: 'day', limit: 70 });
    t.deepEqual(restarted.drain().usage, [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 70, refused: 2 }]);
  });

  test('Usage - the count of a day that has ended is not restored', async (t) => {
    const limiter = await t.context.open();
    await limiter.restoreUsage([
      { accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 5, refused: 5 },
      { accountId: OTHER_ACCOUNT, dayIndex: DAY_INDEX - 1, requests: 9, refused: 9 },
    ]);
    await limiter.admit({ ...ACCOUNT, nowMs: MIDNIGHT_MS });
    t.deepEqual(limiter.drain().usage, [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX + 1, requests: 1, refused: 0 }]);
  });
}
