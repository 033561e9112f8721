/** The operator ends a ban or reads the counts, before, during and after an outage of Redis. */
import type { RedisLimiter } from '../../../src/access/limits/redis.ts';
import { ban } from './suite/bans.ts';
import { LONG_TIMEOUT, test, waitForRecovery } from './suite/redis-outage.ts';
import { ACCOUNT, ACCOUNT_ID, KEY_ID, NOON_MS, repeat } from './suite/setup.ts';

const LATER = { ...ACCOUNT, nowMs: NOON_MS + 60_000 };

/** Two servers that both know of a ban. */
async function withBan(open: (options: typeof LONG_TIMEOUT) => Promise<RedisLimiter>) {
  const [one, other] = [await open(LONG_TIMEOUT), await open(LONG_TIMEOUT)];
  await ban(one);
  await other.admit(ACCOUNT);
  return [one, other] as const;
}

test('Counts - while Redis is unavailable are those that this server knows, and marked so', async (t) => {
  const [one, other] = [await t.context.open(LONG_TIMEOUT), await t.context.open(LONG_TIMEOUT)];
  await repeat(one, 10, ACCOUNT);
  await repeat(other, 20, ACCOUNT);
  await t.context.redis.kill();
  t.like(await one.counts(ACCOUNT_ID, NOON_MS), { counter: { minuteCount: 10, dayCount: 10 }, isLocal: true });
  await repeat(one, 1, ACCOUNT);
  t.like(await one.counts(ACCOUNT_ID, NOON_MS), { counter: { minuteCount: 11, dayCount: 11 }, isLocal: true });
  await t.context.redis.startAgain();
  await waitForRecovery(one, other);
  await other.admit(ACCOUNT);
  t.like(await one.counts(ACCOUNT_ID, NOON_MS), { counter: { minuteCount: 31, dayCount: 31 }, isLocal: false });
});

test('Counts - of an account that is not in Redis yet are those that this server knows', async (t) => {
  const limiter = await t.context.open(LONG_TIMEOUT);
  limiter.restoreUsage([
    { accountId: ACCOUNT_ID, dayIndex: Math.floor(NOON_MS / 86_400_000), requests: 30, refused: 3 },
  ]);
  t.like(await limiter.counts(ACCOUNT_ID, NOON_MS), { counter: { dayCount: 30, refused: 3 }, isLocal: false });
});

test('Unban - while Redis is unavailable is refused, and the ban holds', async (t) => {
  const [one] = await withBan(t.context.open);
  await t.context.redis.kill();
  t.is(await one.unban(ACCOUNT_ID, KEY_ID, NOON_MS), undefined);
  t.true('bannedUntilMs' in (await one.admit(LATER)));
});

test('Unban - a server that learns of it only after an outage does not restore the ban', async (t) => {
  const [one, other] = await withBan(t.context.open);
  await one.unban(ACCOUNT_ID, KEY_ID, NOON_MS);
  await t.context.redis.command('SAVE');
  await t.context.redis.kill();
  t.true('bannedUntilMs' in (await other.admit(LATER)), 'it does not know yet');
  await t.context.redis.startAgain();
  await waitForRecovery(one, other);
  for (const server of [one, other]) t.true((await server.admit(LATER)).allowed);
});

test('Unban - a ban that begins later is restored in a Redis that has lost its data', async (t) => {
  const [one, other] = await withBan(t.context.open);
  await one.unban(ACCOUNT_ID, KEY_ID, NOON_MS);
  t.true('bannedUntilMs' in (await repeat(one, 81, LATER)));
  await t.context.redis.kill();
  await one.admit(LATER);
  await t.context.redis.startAgain();
  await waitForRecovery(one, other);
  for (const server of [one, other]) t.true('bannedUntilMs' in (await server.admit(LATER)));
});
