/** Redis becomes unavailable: every request is decided, from the known counts; afterwards the largest counts stand. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { Limiter } from '../../../src/platform/access/limits/limiter.ts';
import type { RedisLimiter } from '../../../src/platform/access/limits/redis.ts';
import { toAccountId } from '../../../src/platform/rpc/caller.ts';
import { MISSING_REDIS_SERVER, startRedis, type TestRedis } from '../../support/machine/redis.ts';
import { openProxy } from '../../support/machine/tcp-proxy.ts';
import { sharing } from '../../support/service/sharing.ts';
import { until } from '../../support/until.ts';
import { openServers, type RedisOptions, untilBack } from './suite/redis.ts';
import { ACCOUNT, ACCOUNT_ID, countAdmitted, DAY_INDEX, flood, GRACE, NOON_MS, repeat, send } from './suite/rules.ts';

let redis: TestRedis;
const anyTest = sharing<unknown>(MISSING_REDIS_SERVER, async (t) => {
  redis = await startRedis(t);
});
const test = anyTest.serial; // the tests share one Redis, which they kill or pause
/** The levels of the lines of all limiters of the test. */
let log: string[];

const logger = { info: () => log.push('info'), warn: () => log.push('warn') };
const levels = () => log.toSorted();

anyTest.beforeEach(() => {
  log = [];
});
anyTest.afterEach.always(async () => {
  redis.resume();
  if (redis.pid === undefined) await redis.startAgain();
});

const ADDRESS = { address: '192.0.2.1' };
const LARGE = { ...ACCOUNT, quota: { perMinute: 1_000, perDay: 1_000_000 } };

async function openThree(t: ExecutionContext, options: Partial<RedisOptions> = {}) {
  const servers = await openServers(t, { redis: redis.config, logger, ...options });
  if (redis.pid === undefined) return servers;
  await untilBack(...servers); // on a busy machine that may take longer than a start waits
  log = [];
  return servers;
}

async function restart(...limiters: readonly RedisLimiter[]): Promise<void> {
  await redis.startAgain();
  await untilBack(...limiters);
}

async function remaining(limiter: Limiter, attempt = LARGE): Promise<number> {
  return (await limiter.peek(attempt)).remaining;
}

async function connections(): Promise<number> {
  return Number(/total_connections_received:(\d+)/.exec(String(await redis.command('INFO', 'stats')))?.[1]);
}

/** Makes Redis refuse all writes, so that it counts nothing. */
const fill = () => redis.command('CONFIG', 'SET', 'maxmemory', '1');
const unfill = () => redis.command('CONFIG', 'SET', 'maxmemory', '0');

test('Killed - limits continue from the known counts, with one log line', async (t) => {
  const [limiter, other] = await openThree(t);
  await repeat(limiter, 40, ACCOUNT);
  for (let i = 0; i < 10; i += 1) await send(limiter, ADDRESS);
  await redis.kill();
  t.like(await limiter.admit(ACCOUNT), { allowed: true, remaining: 19 });
  t.like(await repeat(limiter, 19, ACCOUNT), { allowed: true, remaining: 0 });
  t.like(await limiter.admit(ACCOUNT), { allowed: false, window: 'minute', limit: 60 });
  t.true(limiter.isDegraded);
  t.like(limiter.drain().usage, [{ requests: 60, refused: 1 }]);
  t.like(await limiter.peek(ACCOUNT), { windows: [{ used: 60 }, { used: 60 }] });
  const sent = Array.from({ length: 100 }, () => send(limiter, ADDRESS));
  t.is(countAdmitted(await Promise.all(sent)), 50);
  t.true(await other.countEventStreams(ACCOUNT_ID, 10, 10), 'each server counts its own');
  await until(() => levels().length === 3, 'the lines of all servers');
  t.deepEqual(levels(), ['warn', 'warn', 'warn']);
});

test('Killed - the grace after the first refusal holds while Redis is away, and when it is back', async (t) => {
  const [limiter] = await openThree(t, GRACE);
  const refused = { ...ACCOUNT, quota: { perMinute: 0, perDay: 1_000 } };
  const isBanned = async (times: number, ms: number) =>
    (await repeat(limiter, times, { ...refused, nowMs: NOON_MS + ms })).begunBan !== undefined;
  for (const atMs of [0, 10_000, 70_000]) {
    if (atMs === 10_000) await redis.kill();
    if (atMs === 70_000) await restart(limiter);
    t.deepEqual([await isBanned(100, atMs), await isBanned(18, atMs + 2_000)], [false, false]);
  }
  t.true(await isBanned(1, 72_000));
});

test('Start without Redis - requests are served, and Redis is used once it is available', async (t) => {
  await redis.kill();
  const [one, other] = await openThree(t);
  t.deepEqual(levels(), ['warn', 'warn', 'warn']);
  const attempt = { ...ACCOUNT, quota: { perMinute: 1_000, perDay: 200 } };
  for (const limiter of [one, other]) {
    limiter.restoreUsage([{ accountId: ACCOUNT_ID, dayIndex: DAY_INDEX, requests: 100, refused: 0 }]);
    await repeat(limiter, limiter === one ? 10 : 20, attempt);
  }
  await restart(one, other);
  t.like(await other.admit(attempt), { remaining: 79 });
  t.is(await remaining(one, attempt), 79, 'of 110 and 120 the larger count stands');
});

for (const [what, refuse, accept] of [
  ['is full', fill, unfill],
  ['is a replica', () => redis.command('REPLICAOF', '127.0.0.1', '1'), () => redis.command('REPLICAOF', 'NO', 'ONE')],
] as const) {
  test(`Refusing - a Redis that ${what} is away until it writes again, in one log line`, async (t) => {
    const servers = await openThree(t);
    await flood(servers, 30, LARGE);
    await refuse();
    const before = await connections();
    const endMs = performance.now() + 3_000;
    for (; performance.now() < endMs; await delay(10)) await flood(servers, 3, LARGE);
    t.deepEqual(levels(), ['warn', 'warn', 'warn']);
    t.true((await connections()) - before < 40);
    await accept();
    await untilBack(...servers);
    t.deepEqual(levels(), ['info', 'info', 'info', 'warn', 'warn', 'warn']);
  });
}

test('Replica - a Redis that may not write any more is left for the one that its address leads to now', async (t) => {
  const successor = await startRedis(t);
  t.teardown(() => redis.command('REPLICAOF', 'NO', 'ONE'));
  const address = await openProxy(t, redis.port);
  const urls = [`redis://127.0.0.1:${address.port}`] as const;
  const [limiter] = await openThree(t, { redis: { urls, isCluster: false } });
  await repeat(limiter, 40, ACCOUNT);
  address.targetPort = successor.port;
  await redis.command('REPLICAOF', '127.0.0.1', '1');
  await until(async () => {
    await send(limiter, ADDRESS);
    return limiter.isDegraded;
  }, 'the refusal');
  await untilBack(limiter);
  t.like(await limiter.admit(ACCOUNT), { allowed: true, remaining: 19 });
});

// `assert` and not `t` inside a property: fast-check then reports the smallest sequence that fails.
test('Model - in any sequence of requests, outages and losses of data no server’s count falls', async (t) => {
  const server = fc.nat({ max: 2 });
  const requests = fc.record({ do: fc.constant('requests' as const), server, times: fc.integer({ min: 1, max: 20 }) });
  const outage = fc.record({ do: fc.constantFrom('outage' as const, 'loss' as const) });
  const steps = fc.array(fc.oneof({ weight: 5, arbitrary: requests }, { weight: 1, arbitrary: outage }), {
    minLength: 5,
    maxLength: 25,
  });
  const servers = await openThree(t);
  let runs = 0;
  const property = fc.asyncProperty(steps, async (sequence) => {
    runs += 1;
    const attempt = { ...LARGE, accountId: toAccountId(BigInt(runs)) };
    const used = [0, 0, 0];
    const send = async (index: number, times: number) => {
      const { remaining: left } = await repeat(servers[index] as RedisLimiter, times, attempt);
      const before = used[index] ?? 0;
      assert.ok(1_000 - left >= before + times, `${1_000 - left} after ${before} and ${times} more`);
      used[index] = 1_000 - left;
    };
    let isFull = false;
    for (const step of sequence) {
      if (step.do === 'requests') await send(step.server, step.times);
      else if (step.do === 'loss') await redis.command('FLUSHALL');
      else {
        isFull = !isFull;
        await (isFull ? fill() : unfill());
      }
    }
    await unfill();
    await untilBack(...servers);
    const largest = Math.max(...used);
    for (const index of servers.keys()) await send(index, 1);
    for (const one of servers) {
      const count = 1_000 - (await remaining(one, attempt));
      assert.ok(count > largest && count <= largest + 3, `${count} after at most ${largest}`);
    }
  });
  await t.notThrowsAsync(fc.assert(property, { numRuns: 25, includeErrorInReport: true }));
});
