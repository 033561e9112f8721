/** Servers that share one state: together they are as exact as a single server. */
import { BEGUN } from './bans.ts';
import {
  ACCOUNT,
  ACCOUNT_ID,
  DAY_INDEX,
  fromAddress,
  KEY_ID,
  type LimitsTest,
  NOON_MS,
  OTHER_KEY,
  repeat,
} from './setup.ts';

const NO_BAN = { ban: { refusals: 10_000, windowMs: 60_000, durationMs: 1_000 } };

/** Sends concurrent requests to all servers in turn. */
function distribute<Server, Result>(
  servers: readonly Server[],
  times: number,
  send: (server: Server) => Result,
): Result[] {
  return Array.from({ length: Math.ceil(times / servers.length) }, () => servers.map(send)).flat();
}

export function sharedTests(test: LimitsTest): void {
  test('Servers - of 501 requests at once to 3 of them exactly the minute’s quota is admitted', async (t) => {
    const servers = await t.context.openShared(3, NO_BAN);
    const decisions = await Promise.all(distribute(servers, 501, (server) => server.admit(ACCOUNT)));
    t.is(decisions.filter(({ allowed }) => allowed).length, 60);
    const left = decisions.filter(({ allowed }) => allowed).map(({ remaining }) => remaining);
    t.deepEqual(
      left.sort((x, y) => x - y),
      Array.from({ length: 60 }, (_, index) => index),
    );
  });

  test('Servers - of 501 requests at once to 3 of them exactly the day’s quota is admitted', async (t) => {
    const servers = await t.context.openShared(3, NO_BAN);
    const attempt = { ...ACCOUNT, quota: { perMinute: 1_000, perDay: 77 } };
    const decisions = await Promise.all(distribute(servers, 501, (server) => server.admit(attempt)));
    t.is(decisions.filter(({ allowed }) => allowed).length, 77);
  });

  test('Servers - of 501 requests at once from one address to 3 of them exactly 60 are admitted', async (t) => {
    const servers = await t.context.openShared(3);
    const decisions = await Promise.all(distribute(servers, 501, (server) => fromAddress(server, '192.0.2.1')));
    t.is(decisions.filter(({ allowed }) => allowed).length, 60);
  });

  test('Servers - refusals by any of them add up to one ban, which one of them reports', async (t) => {
    const bans: unknown[] = [];
    const servers = await t.context.openShared(3, { onBan: (ban) => bans.push(ban) });
    await Promise.all(distribute(servers, 60, (server) => server.admit(ACCOUNT)));
    const decisions = await Promise.all(distribute(servers, 60, (server) => server.admit(ACCOUNT)));
    t.is(decisions.filter((decision) => 'bannedUntilMs' in decision).length, 40);
    t.deepEqual(bans, [BEGUN]);
    for (const server of servers) {
      t.like(await server.admit({ ...ACCOUNT, nowMs: NOON_MS + 299_001 }), { allowed: false, retryAfterSeconds: 1 });
      t.true((await server.admit({ ...ACCOUNT, keyId: OTHER_KEY, nowMs: NOON_MS + 299_001 })).allowed);
    }
    for (const server of servers) t.true((await server.admit({ ...ACCOUNT, nowMs: NOON_MS + 300_000 })).allowed);
  });

  test('Servers - each shows the shared numbers', async (t) => {
    const [one, other] = await t.context.openShared(2);
    await one?.admit(ACCOUNT);
    t.like(await other?.peek(ACCOUNT), { allowed: true, remaining: 59 });
    t.like(await other?.admit(ACCOUNT), { allowed: true, remaining: 58 });
    t.like(await one?.peek(ACCOUNT), { allowed: true, remaining: 58 });
  });

  test('Servers - a change of the quota on one keeps what was used on another', async (t) => {
    const [one, other] = await t.context.openShared(2);
    if (one) await repeat(one, 61, ACCOUNT);
    const upgraded = { ...ACCOUNT, quota: { perMinute: 300, perDay: 10_000 } };
    t.like(await other?.admit(upgraded), { allowed: true, limit: 300, remaining: 239 });
    t.false((await one?.admit(ACCOUNT))?.allowed);
  });

  test('Servers - each drains totals that include earlier requests to the others', async (t) => {
    const [one, other] = await t.context.openShared(2);
    if (one) await repeat(one, 40, ACCOUNT);
    if (other) await repeat(other, 25, ACCOUNT);
    t.deepEqual(one?.drain().usage, [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 40, refused: 0 }]);
    t.deepEqual(other?.drain().usage, [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 60, refused: 5 }]);
  });

  test('Servers - stored totals count once, however many servers restore them', async (t) => {
    const servers = await t.context.openShared(3, NO_BAN);
    const rows = [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 50, refused: 4 }];
    const attempt = { ...ACCOUNT, quota: { perMinute: 60, perDay: 60 } };
    await servers[0]?.restoreUsage(rows);
    t.true((await servers[0]?.admit(attempt))?.allowed);
    await Promise.all(servers.slice(1).map((server) => server.restoreUsage(rows)));
    const decisions = await Promise.all(distribute(servers, 30, (server) => server.admit(attempt)));
    t.is(decisions.filter(({ allowed }) => allowed).length, 9);
    await servers[0]?.admit(attempt);
    t.deepEqual(servers[0]?.drain().usage, [{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 60, refused: 26 }]);
  });

  test('Servers - a ban that one of them restores holds on all after a request with its key', async (t) => {
    const [one, other] = await t.context.openShared(2);
    one?.restoreBans([{ keyId: KEY_ID, untilMs: NOON_MS + 1_000 }]);
    t.like(await one?.admit(ACCOUNT), { allowed: false, bannedUntilMs: NOON_MS + 1_000 });
    t.like(await other?.admit(ACCOUNT), { allowed: false, bannedUntilMs: NOON_MS + 1_000 });
    t.true((await other?.admit({ ...ACCOUNT, nowMs: NOON_MS + 1_000 }))?.allowed);
  });

  test('Servers - a ban ended on one has ended on all, also on servers that have enforced it', async (t) => {
    const servers = await t.context.openShared(3);
    const later = { ...ACCOUNT, nowMs: NOON_MS + 60_000 };
    await Promise.all(distribute(servers, 120, (server) => server.admit(ACCOUNT)));
    for (const server of servers) t.true('bannedUntilMs' in (await server.admit(later)));
    await servers[0]?.unban(ACCOUNT_ID, KEY_ID, later.nowMs);
    for (const server of servers.toReversed()) t.true((await server.admit(later)).allowed);
    await Promise.all(distribute(servers, 57 + 18, (server) => server.admit(later)));
    for (const server of servers) t.true((await server.admit({ ...later, nowMs: NOON_MS + 120_000 })).allowed);
  });

  test('Servers - one ends a ban that only another has restored', async (t) => {
    const [one, other] = await t.context.openShared(2);
    other?.restoreBans([{ keyId: KEY_ID, untilMs: NOON_MS + 300_000 }]);
    await one?.unban(ACCOUNT_ID, KEY_ID, NOON_MS);
    t.true((await other?.admit(ACCOUNT))?.allowed);
    t.true((await one?.admit(ACCOUNT))?.allowed);
  });

  test('Servers - each returns the shared counts', async (t) => {
    const [one, other] = await t.context.openShared(2);
    if (one) await repeat(one, 40, ACCOUNT);
    if (other) await repeat(other, 25, ACCOUNT);
    for (const server of [one, other]) {
      t.like(await server?.counts(ACCOUNT_ID, NOON_MS), {
        counter: { minuteCount: 60, dayCount: 60, refused: 5 },
        isLocal: false,
      });
    }
  });
}
