/** Bans, exact to the request and to the millisecond. */
import type { ManagedLimiter } from '../../../../src/access/limits/limiter.ts';
import type { Ban } from '../../../../src/access/tables/model.ts';
import { ACCOUNT, KEY_ID, type LimitsTest, NOON_MS, OTHER_KEY, repeat } from './setup.ts';

/** The ban that `ban` begins. */
export const BEGUN: Ban = {
  keyId: KEY_ID,
  untilMs: NOON_MS + 300_000,
  durationMs: 300_000,
  refusals: 20,
  window: 'minute',
};

/** Bans the key at noon: 60 requests are admitted, 20 are refused. */
export async function ban(limiter: ManagedLimiter): Promise<void> {
  await repeat(limiter, 80, ACCOUNT);
}

export function banTests(test: LimitsTest): void {
  test('Ban - begins with the 20th refusal, and is reported once', async (t) => {
    const bans: Ban[] = [];
    const limiter = await t.context.open({ onBan: (begun) => bans.push(begun) });
    await repeat(limiter, 79, ACCOUNT);
    t.deepEqual(bans, []);
    const twentieth = await limiter.admit(ACCOUNT);
    t.like(twentieth, { allowed: false, window: 'minute', retryAfterSeconds: 60 });
    t.false('bannedUntilMs' in twentieth);
    t.deepEqual(bans, [BEGUN]);
    await repeat(limiter, 100, ACCOUNT);
    t.is(bans.length, 1);
  });

  test('Ban - a decision has its end, the wait in whole seconds, and the numbers of the account', async (t) => {
    const limiter = await t.context.open();
    await ban(limiter);
    t.deepEqual(await limiter.admit({ ...ACCOUNT, nowMs: NOON_MS + 70_001 }), {
      allowed: false,
      bannedUntilMs: NOON_MS + 300_000,
      window: 'minute',
      limit: 60,
      remaining: 60,
      resetAtSeconds: NOON_MS / 1_000 + 120,
      retryAfterSeconds: 230,
    });
  });

  test('Ban - requests during it neither count nor prolong it', async (t) => {
    const limiter = await t.context.open();
    await ban(limiter);
    for (let second = 1; second < 300; second += 1) {
      t.true('bannedUntilMs' in (await limiter.admit({ ...ACCOUNT, nowMs: NOON_MS + second * 1_000 })));
    }
    t.like(await limiter.admit({ ...ACCOUNT, nowMs: NOON_MS + 300_000 }), { allowed: true, remaining: 59 });
  });

  test('Ban - another key of the account still works', async (t) => {
    const limiter = await t.context.open();
    await ban(limiter);
    t.like(await limiter.admit({ ...ACCOUNT, keyId: OTHER_KEY, nowMs: NOON_MS + 60_000 }), {
      allowed: true,
      remaining: 59,
    });
  });

  test('Ban - names the day’s limit if that was exceeded', async (t) => {
    const bans: Ban[] = [];
    const limiter = await t.context.open({ onBan: (begun) => bans.push(begun) });
    await repeat(limiter, 25, { ...ACCOUNT, quota: { perMinute: 60, perDay: 5 } });
    t.deepEqual(bans, [{ ...BEGUN, window: 'day' }]);
  });

  test('Ban - survives a restart', async (t) => {
    const bans: Ban[] = [];
    await ban(await t.context.open({ onBan: (begun) => bans.push(begun) }));
    const restarted = await t.context.open();
    restarted.restoreBans(bans);
    t.like(await restarted.admit({ ...ACCOUNT, nowMs: NOON_MS + 299_001 }), { allowed: false, retryAfterSeconds: 1 });
    t.true((await restarted.admit({ ...ACCOUNT, nowMs: NOON_MS + 300_000 })).allowed);
  });
}
