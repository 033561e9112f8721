/** Servers that share one state: together they are as exact as a single server. */
import { randomUUID } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import type { Limiter, LimiterOptions } from '../../../../src/access/limits/limiter.ts';
import {
  ACCOUNT,
  ACCOUNT_ID,
  BAN_MS,
  ban,
  countAdmitted,
  DAY_INDEX,
  flood,
  fromAddress,
  KEY_ID,
  NO_BAN,
  NOON_MS,
  type Open,
  OTHER_KEY,
  repeat,
} from './setup.ts';

const LATER = { ...ACCOUNT, nowMs: NOON_MS + 60_000 };

export function serverTests(test: TestFn, open: Open): void {
  const openThree = async (
    t: ExecutionContext,
    options?: Partial<LimiterOptions>,
  ): Promise<[Limiter, Limiter, Limiter]> => {
    const state = randomUUID();
    return [await open(t, options, state), await open(t, options, state), await open(t, options, state)];
  };

  test('Servers - of 501 requests at once to 3 of them exactly the minute’s quota is admitted', async (t) => {
    const decisions = await flood(await openThree(t, NO_BAN), 501);
    const left = decisions.flatMap(({ allowed, remaining }) => (allowed ? [remaining] : []));
    t.deepEqual(
      left.sort((x, y) => x - y),
      Array.from({ length: 60 }, (_, index) => index),
    );
  });

  test('Servers - of 501 requests at once to 3 of them exactly the day’s quota is admitted', async (t) => {
    const servers = await openThree(t, NO_BAN);
    t.is(countAdmitted(await flood(servers, 501, { ...ACCOUNT, quota: { perMinute: 1_000, perDay: 77 } })), 77);
  });

  test('Servers - of 501 requests at once from one address to 3 of them exactly 60 are admitted', async (t) => {
    const servers = await openThree(t);
    const sent = servers.flatMap((server) => Array.from({ length: 167 }, () => fromAddress(server, '192.0.2.1')));
    t.is(countAdmitted(await Promise.all(sent)), 60);
  });

  test('Servers - refusals by any of them add up to one ban, which one of them reports', async (t) => {
    const bans: unknown[] = [];
    const servers = await openThree(t, { onBan: (begun) => bans.push(begun) });
    const decisions = await flood(servers, 120);
    t.is(decisions.filter((decision) => 'bannedUntilMs' in decision).length, 40);
    t.is(bans.length, 1);
    for (const server of servers) {
      t.like(await server.admit({ ...ACCOUNT, nowMs: NOON_MS + BAN_MS - 1 }), { retryAfterSeconds: 1 });
      t.true((await server.admit({ ...ACCOUNT, keyId: OTHER_KEY, nowMs: NOON_MS + BAN_MS - 1 })).allowed);
    }
    for (const server of servers) t.true((await server.admit({ ...ACCOUNT, nowMs: NOON_MS + BAN_MS })).allowed);
  });

  test('Servers - each shows the shared numbers, and drains and returns the shared counts', async (t) => {
    const [one, other] = await openThree(t);
    await repeat(one, 40, ACCOUNT);
    t.like(await other.peek(ACCOUNT), { allowed: true, remaining: 20 });
    await repeat(other, 25, ACCOUNT);
    const total = { accountId: ACCOUNT_ID, dayIndex: DAY_INDEX };
    t.deepEqual(one.drain().usage, [{ ...total, requests: 40, refused: 0 }]);
    t.deepEqual(other.drain().usage, [{ ...total, requests: 60, refused: 5 }]);
    const counted = { counter: { minuteCount: 60, dayCount: 60, refused: 5 }, isLocal: false };
    for (const server of [one, other]) t.like(await server.counts(ACCOUNT_ID, NOON_MS), counted);
  });

  test('Servers - stored totals count once, however many servers restore them', async (t) => {
    const servers = await openThree(t, NO_BAN);
    const [first] = servers;
    const attempt = { ...ACCOUNT, quota: { perMinute: 60, perDay: 60 } };
    for (const server of servers) {
      server.restoreUsage([{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 50, refused: 4 }]);
      t.true((await server.admit(attempt)).allowed);
    }
    t.is(countAdmitted(await flood(servers, 30, attempt)), 7);
    await first.admit(attempt);
    t.like(first.drain().usage, [{ requests: 60, refused: 28 }]);
  });

  test('Servers - a ban that one of them restores holds on all after a request with its key', async (t) => {
    const [one, other] = await openThree(t);
    one.restoreBans([{ keyId: KEY_ID, untilMs: NOON_MS + 1_000 }]);
    for (const server of [one, other]) t.like(await server.admit(ACCOUNT), { bannedUntilMs: NOON_MS + 1_000 });
    t.true((await other.admit({ ...ACCOUNT, nowMs: NOON_MS + 1_000 })).allowed);
  });

  test('Servers - a ban ended on one has ended on all, also on servers that have enforced it', async (t) => {
    const servers = await openThree(t);
    await ban(servers[0]);
    for (const server of servers) t.true('bannedUntilMs' in (await server.admit(LATER)));
    await servers[0].unban(ACCOUNT_ID, KEY_ID, LATER.nowMs);
    for (const server of servers.toReversed()) t.true((await server.admit(LATER)).allowed);
    t.is(countAdmitted(await flood(servers, 57 + 18, LATER)), 57);
    for (const server of servers) t.true((await server.admit({ ...LATER, nowMs: NOON_MS + 120_000 })).allowed);
  });

  test('Servers - one ends a ban that only another has restored', async (t) => {
    const [one, other] = await openThree(t);
    other.restoreBans([{ keyId: KEY_ID, untilMs: NOON_MS + BAN_MS }]);
    await one.unban(ACCOUNT_ID, KEY_ID, NOON_MS);
    for (const server of [other, one]) t.true((await server.admit(ACCOUNT)).allowed);
  });
}
