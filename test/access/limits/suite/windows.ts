/** Which requests count together, in which windows. */
import { toKeyId } from '../../../../src/rpc/caller.ts';
import {
  ACCOUNT,
  fromAddress,
  type LimitsTest,
  MIDNIGHT_MS,
  NOON_MS,
  OTHER_ACCOUNT,
  OTHER_KEY,
  repeat,
} from './setup.ts';

export function windowTests(test: LimitsTest): void {
  test('Account - all its keys share one quota', async (t) => {
    const limiter = await t.context.open();
    await repeat(limiter, 59, ACCOUNT);
    t.like(await limiter.admit({ ...ACCOUNT, keyId: OTHER_KEY }), { allowed: true, remaining: 0 });
    t.like(await limiter.admit({ ...ACCOUNT, keyId: toKeyId(3n) }), { allowed: false, window: 'minute' });
  });

  test('Account - does not use another account’s quota', async (t) => {
    const limiter = await t.context.open();
    await repeat(limiter, 60, ACCOUNT);
    t.like(await limiter.admit({ ...ACCOUNT, accountId: OTHER_ACCOUNT }), { allowed: true, remaining: 59 });
  });

  test('Account - never shares a counter with an address of the same name', async (t) => {
    const limiter = await t.context.open();
    await repeat(limiter, 60, ACCOUNT);
    t.like(await fromAddress(limiter, String(ACCOUNT.accountId)), { allowed: true, remaining: 59 });
  });

  test('Account - a change of its quota takes effect with the next request', async (t) => {
    const limiter = await t.context.open();
    await repeat(limiter, 60, ACCOUNT);
    t.false((await limiter.admit(ACCOUNT)).allowed);
    const upgraded = { ...ACCOUNT, quota: { perMinute: 300, perDay: 10_000 } };
    t.like(await limiter.admit(upgraded), { allowed: true, limit: 300, remaining: 239 });
  });

  test('Account - a new day begins at midnight UTC', async (t) => {
    const limiter = await t.context.open();
    const attempt = { ...ACCOUNT, quota: { perMinute: 60, perDay: 1 }, nowMs: MIDNIGHT_MS - 1 };
    t.true((await limiter.admit(attempt)).allowed);
    t.like(await limiter.admit(attempt), { allowed: false, window: 'day', retryAfterSeconds: 1 });
    t.like(await limiter.admit({ ...attempt, nowMs: MIDNIGHT_MS }), { allowed: true, remaining: 0 });
  });

  test('Address - 60 requests a minute are admitted, without a limit by the day', async (t) => {
    const limiter = await t.context.open();
    for (let minute = 0; minute < 1_440; minute += 1) {
      const nowMs = NOON_MS + minute * 60_000;
      const decisions = await Promise.all(Array.from({ length: 60 }, () => fromAddress(limiter, '192.0.2.1', nowMs)));
      if (!decisions.every(({ allowed }) => allowed)) t.fail();
      t.like(await fromAddress(limiter, '192.0.2.1', nowMs), {
        allowed: false,
        window: 'minute',
        limit: 60,
        remaining: 0,
      });
    }
  });

  test('Address - is never banned: the next minute admits requests after any number of refusals', async (t) => {
    const limiter = await t.context.open();
    for (let i = 0; i < 1_000; i += 1) await fromAddress(limiter, '192.0.2.1');
    t.true((await fromAddress(limiter, '192.0.2.1', NOON_MS + 60_000)).allowed);
  });

  test('Peek - shows the numbers, counts nothing and changes nothing', async (t) => {
    const limiter = await t.context.open();
    t.like(await limiter.peek(ACCOUNT), { allowed: true, limit: 60, remaining: 60 });
    t.like(await limiter.peek({ kind: 'address', address: '192.0.2.1', nowMs: NOON_MS }), {
      allowed: true,
      remaining: 60,
    });
    t.deepEqual(limiter.drain().usage, []);

    await limiter.admit(ACCOUNT);
    t.like(await limiter.peek(ACCOUNT), { remaining: 59 });
    t.like(await limiter.admit(ACCOUNT), { remaining: 58 });
  });
}
