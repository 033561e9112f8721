/**
 * The Redis limiter: the rules of all limiters, those of servers that share one Redis, and what is Redis's alone: its
 * time, its password, the streams of all servers.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ExecutionContext } from 'ava';
import type { Logger } from 'pino';
import { NAME } from '../../../src/identity.ts';
import { MISSING_REDIS_SERVER, startRedis, type TestRedis } from '../../support/machine/redis.ts';
import { freePorts } from '../../support/scope.ts';
import { sharing } from '../../support/service/sharing.ts';
import { until, withinOneDay } from '../../support/until.ts';
import { openRedis, openServers, type RedisOptions, untilBack } from './suite/redis.ts';
import {
  ACCOUNT,
  ACCOUNT_ID,
  BAN_MS,
  countAdmitted,
  DAY_INDEX,
  flood,
  KEY_ID,
  limiterTests,
  NO_BAN,
  NOON_MS,
  type Open,
  OTHER_ACCOUNT,
  OTHER_KEY,
  repeat,
  SHARED,
  send,
} from './suite/rules.ts';

const DAY_MS = 86_400_000;
const MAX = 10;
let redis: TestRedis;

const test = sharing<unknown>(MISSING_REDIS_SERVER, async (t) => {
  redis = await startRedis(t);
});

const open: Open = async (t, options) => {
  const limiter = await openRedis(t, { ...options, redis: redis.config });
  await untilBack(limiter);
  return limiter;
};
limiterTests(test, open, SHARED);

async function openThree(t: ExecutionContext, options: Partial<RedisOptions> = {}) {
  const servers = await openServers(t, { ...options, redis: redis.config });
  await untilBack(...servers);
  return servers;
}

test('Servers - of 501 requests at once to 3 of them exactly the minute’s quota is admitted', async (t) => {
  const decisions = await flood(await openThree(t, NO_BAN), 501);
  const left = decisions.flatMap(({ allowed, remaining }) => (allowed ? [remaining] : []));
  left.sort((x, y) => x - y);
  t.deepEqual(left, [...Array(60).keys()]);
});

test('Servers - refusals by any of them add up to one ban, which begins with one decision', async (t) => {
  const servers = await openThree(t);
  const decisions = await flood(servers, 120);
  t.is(decisions.filter((decision) => decision.bannedUntilMs).length, 40);
  t.is(decisions.filter((decision) => decision.begunBan).length, 1);
  for (const server of servers) {
    t.like(await server.admit({ ...ACCOUNT, nowMs: NOON_MS + BAN_MS - 1 }), { retryAfterSeconds: 1 });
    t.true((await server.admit({ ...ACCOUNT, keyId: OTHER_KEY, nowMs: NOON_MS + BAN_MS - 1 })).allowed);
  }
  for (const server of servers) t.true((await server.admit({ ...ACCOUNT, nowMs: NOON_MS + BAN_MS })).allowed);
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

test('Servers - a ban that one restores holds on all after a request with its key, until one ends it', async (t) => {
  const [one, other] = await openThree(t);
  const untilMs = NOON_MS + BAN_MS; // Redis forgets it after this time of its own
  for (const keyId of [KEY_ID, OTHER_KEY]) one.restoreBans([{ keyId, untilMs }]);
  for (const server of [one, other]) t.like(await server.admit(ACCOUNT), { bannedUntilMs: untilMs });
  t.true((await other.admit({ ...ACCOUNT, nowMs: untilMs })).allowed);
  await other.unban(ACCOUNT_ID, OTHER_KEY); // of which Redis does not know yet
  for (const server of [one, other]) t.true((await server.admit({ ...ACCOUNT, keyId: OTHER_KEY })).allowed);
});

// The others are serial: what they ask Redis is about all of it.
test.serial('Redis’s time - counts for limits, bans and the operator, however wrong a server’s is', async (t) => {
  await withinOneDay(60_000);
  const [one, other] = await openThree(t, { time: 'redis' });
  const servers = [one, other];
  const nowMs = Date.now();
  const dayIndex = Math.floor(nowMs / DAY_MS);
  const byDay = { ...ACCOUNT, quota: { perMinute: 1_000_000, perDay: 50 } };
  let passed = 0;
  for (let i = 0; i < 60; i += 1) {
    const wrongByMs = [0, 3_600_000, -3_600_000, DAY_MS, -DAY_MS][i % 5] ?? 0;
    const decision = await servers[i % 2]?.admit({ ...byDay, nowMs: nowMs + wrongByMs });
    if (decision?.allowed) passed += 1;
    else t.is(decision?.resetAtSeconds, ((dayIndex + 1) * DAY_MS) / 1_000);
  }
  t.is(passed, 50);
  for (const server of servers) t.is(server.drain().usage[0]?.dayIndex, dayIndex);

  const { now } = Date;
  t.teardown(() => (Date.now = now));
  Date.now = () => now() + DAY_MS;
  t.true(Math.abs((await one.now()) - now()) < 60_000);
  one.restoreBans([{ keyId: KEY_ID, untilMs: nowMs + BAN_MS }]);
  t.like(await one.admit({ ...byDay, nowMs: Date.now() }), { bannedUntilMs: nowMs + BAN_MS });
});

test.serial('Password - is sent, and never logged', async (t) => {
  await redis.command('ACL', 'SETUSER', 'someone', 'on', '>very/secret', '~*', '+@all');
  const withoutHello = await startRedis(t, ['--rename-command', 'HELLO', '']);
  const [nobody = 0] = await freePorts(1);
  const log: string[] = [];
  const logger = { info: () => undefined, warn: (line: unknown) => log.push(JSON.stringify(line)) };
  const open = (first: string, ...others: string[]) => {
    const config = { urls: [first, ...others], isCluster: others.length > 0 } as const;
    return openRedis(t, { redis: config, logger });
  };
  const urlOf = (port: number, scheme = 'redis', password = 'another/secret') =>
    `${scheme}://someone:${encodeURIComponent(password)}@127.0.0.1:${port}`;
  await untilBack(await open(urlOf(redis.port, 'redis', 'very/secret')));
  t.notRegex(log.join('\n'), /WRONGPASS|secret/);
  const mixed = Array.from({ length: 20 }, () => urlOf(nobody)); // the library refuses these, and shows the last one
  for (const [url, others, cause] of [
    [urlOf(redis.port), [], /WRONGPASS/],
    [urlOf(withoutHello.port), [], /unknown command .HELLO/],
    [urlOf(nobody, 'rediss'), [], /ECONNREFUSED/],
    [urlOf(nobody, 'rediss'), mixed, /mismatch|ECONNREFUSED/],
  ] as const) {
    const refused = await open(url, ...others);
    await until(() => log.length > 0, 'the line'); // a busy machine may be late
    t.true(refused.isDegraded && (await refused.admit(ACCOUNT)).allowed);
    const line = String(log.pop());
    t.regex(line, cause);
    t.notRegex(line, /secret/);
  }
});

test('Rights - those on the page are enough, on a cluster too; a start names the one that is missing', async (t) => {
  const page = await readFile('docs/operations.md', 'utf8');
  const [, rights = ''] = /ACL SETUSER petstore on ><password> ([^`]*)/.exec(page) ?? [];
  const node = await startRedis(t, ['--cluster-enabled', 'yes']);
  await node.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  for (const { port, command } of [await startRedis(t), node]) {
    const isCluster = port === node.port;
    const urlOf = (user: string) => `redis://${user}:secret@127.0.0.1:${port}` as const;
    /** The cause that a start logs; undefined if there is none. */
    const start = async (user: string, without?: string) => {
      const given = (rights.match(/\S+/g) ?? []).filter((right) => right !== without);
      await command('ACL', 'SETUSER', user, 'reset', 'on', '>secret', ...given);
      const causes: string[] = [];
      const logger = { info: () => undefined, warn: ({ cause }: { cause: string }) => causes.push(cause) };
      const redis = { urls: [urlOf(user)], isCluster } as const;
      const limiter = await openRedis(t, { redis, logger: logger as unknown as Logger, prefix: NAME });
      await until(() => !limiter.isDegraded || causes.length > 0, 'the start');
      await limiter.close();
      return causes[0];
    };
    await until(async () => (await start('all')) === undefined, 'a start with all rights');
    await command('SCRIPT', 'FLUSH');
    t.regex((await start('no-eval', '+eval')) ?? '', /'eval'/);
    await start('all');
    const needed = [...rights.matchAll(/\+(\S+)/g)].map(([, right = '']) => right);
    const missing = needed.filter((right) => right !== 'eval' && (isCluster || !/asking|cluster/.test(right)));
    t.true(missing.length > 12);
    const names = (right: string) => new RegExp(`['"]${right.replace('|', '\\|')}['"]`, 'i');
    const isNamed = async (right: string) => names(right).test((await start(`no-${right}`, `+${right}`)) ?? '');
    await Promise.all(missing.map((right) => until(() => isNamed(right), right))); // a busy machine may be late
    t.regex((await start('no-keys', '~petstore:*')) ?? '', /access one of the keys/);
  }
});

test.serial('Entries in Redis - of an account and a ban expire, of an address after a minute', async (t) => {
  const prefix = randomUUID();
  const [server] = await openThree(t, { prefix });
  await repeat(server, 80, ACCOUNT);
  await send(server, { address: '192.0.2.1' });
  const names = (await redis.command('KEYS', `${prefix}*`)) as string[];
  t.true(names.length >= 3);
  for (const name of names) {
    const leftMs = (await redis.command('PTTL', name)) as number;
    t.true(leftMs > 0 && leftMs <= (name.includes('address:') ? 60_000 : DAY_MS), `${name}: ${leftMs} ms`);
  }
});

test.serial('Streams - of an account are counted over all servers; other accounts have their own', async (t) => {
  const [one, other] = await openThree(t);
  const opened = Array.from({ length: 6 }, (_, index) => one.countEventStreams(ACCOUNT_ID, index + 1, MAX));
  t.deepEqual(new Set(await Promise.all(opened)), new Set([true]));
  t.true(await other.countEventStreams(ACCOUNT_ID, 4, MAX));
  t.false(await other.countEventStreams(ACCOUNT_ID, 5, MAX));
  t.false(await one.countEventStreams(ACCOUNT_ID, 7, MAX));
  t.true(await other.countEventStreams(OTHER_ACCOUNT, MAX, MAX));
  await one.countEventStreams(ACCOUNT_ID, 0, MAX); // its streams have ended
  t.true(await other.countEventStreams(ACCOUNT_ID, MAX, MAX));
  for (const account of [ACCOUNT_ID, OTHER_ACCOUNT]) await other.countEventStreams(account, 0, MAX);
  t.deepEqual(await redis.command('KEYS', '*streams'), [], 'nothing is left');
});

test.serial('Streams - those of a server that is gone are forgotten, also if its time was wrong', async (t) => {
  const [gone, there] = await openThree(t);
  t.true(await gone.countEventStreams(ACCOUNT_ID, MAX, MAX));
  const [name = ''] = (await redis.command('KEYS', '*streams')) as string[];
  const [server = ''] = (await redis.command('HKEYS', name)) as string[];
  const leftMs = (await redis.command('PTTL', name)) as number;
  t.true(leftMs > 5_000 && leftMs <= 10_000);
  for (const untilMs of [5_000, -1, 3_600_000]) {
    await redis.command('HSET', name, server, `${MAX} ${Date.now() + untilMs}`);
    t.is(await there.countEventStreams(ACCOUNT_ID, 1, MAX), untilMs !== 5_000, `until ${untilMs} ms`);
  }
});
