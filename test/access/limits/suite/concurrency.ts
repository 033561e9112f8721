/** Concurrent requests never exceed the quota. */
import { ACCOUNT, fromAddress, type LimitsTest, repeat } from './setup.ts';

export function concurrencyTests(test: LimitsTest): void {
  test('Concurrency - of 500 requests at once exactly the minute’s quota is admitted', async (t) => {
    const limiter = await t.context.open({ ban: { refusals: 1_000, windowMs: 60_000, durationMs: 1_000 } });
    const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.admit(ACCOUNT)));
    t.is(decisions.filter(({ allowed }) => allowed).length, 60);
    t.deepEqual(
      decisions.filter(({ allowed }) => allowed).map(({ remaining }) => remaining),
      Array.from({ length: 60 }, (_, index) => 59 - index),
    );
  });

  test('Concurrency - of 500 requests at once exactly the day’s quota is admitted', async (t) => {
    const limiter = await t.context.open({ ban: { refusals: 1_000, windowMs: 60_000, durationMs: 1_000 } });
    const attempt = { ...ACCOUNT, quota: { perMinute: 1_000, perDay: 123 } };
    const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.admit(attempt)));
    t.is(decisions.filter(({ allowed }) => allowed).length, 123);
  });

  test('Concurrency - of 500 requests at once from one address exactly 60 are admitted', async (t) => {
    const limiter = await t.context.open();
    const decisions = await Promise.all(Array.from({ length: 500 }, () => fromAddress(limiter, '192.0.2.1')));
    t.is(decisions.filter(({ allowed }) => allowed).length, 60);
  });

  test('Concurrency - of 100 refusals at once exactly the 20th bans, and once', async (t) => {
    const bans: unknown[] = [];
    const limiter = await t.context.open({ onBan: (ban) => bans.push(ban) });
    await repeat(limiter, 60, ACCOUNT);
    const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.admit(ACCOUNT)));
    t.is(decisions.filter((decision) => 'bannedUntilMs' in decision).length, 80);
    t.is(bans.length, 1);
  });
}
