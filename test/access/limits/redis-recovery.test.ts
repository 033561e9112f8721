/** Redis recovers with all, some or none of its data: the largest of the servers' counts stands. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { RedisLimiter } from '../../../src/access/limits/redis.ts';
import { toAccountId } from '../../../src/rpc/caller.ts';
import { until } from '../../support/until.ts';
import { fill, LARGE, LONG_TIMEOUT, levels, remaining, test, totals, waitForRecovery } from './suite/redis-outage.ts';
import { ACCOUNT, NOON_MS, repeat } from './suite/setup.ts';

for (const [name, order, expected] of [
  ['the server that knows most comes last', [0, 1, 2], 608],
  ['the server that knows most comes first', [2, 1, 0], 610],
] as const) {
  test(`Recovery without data, ${name} - the largest count stands, and requests since then are added`, async (t) => {
    const servers = [
      await t.context.open(LONG_TIMEOUT),
      await t.context.open(LONG_TIMEOUT),
      await t.context.open(LONG_TIMEOUT),
    ];
    // Each server has last seen another total: 100, 300 and 600. Alone they count 5, 6 and 7 more.
    for (const [index, server] of servers.entries()) await repeat(server, (index + 1) * 100, LARGE);
    await t.context.redis.kill();
    for (const [index, server] of servers.entries()) await repeat(server, index + 5, LARGE);
    await t.context.redis.startAgain();
    await waitForRecovery(...servers);
    for (const index of order) await servers[index]?.admit(LARGE);
    for (const server of servers) t.is(await remaining(server, LARGE), 1_000 - expected);
    t.deepEqual(totals(servers[order[2]]?.drain().usage ?? []), { requests: expected, refused: 0 });
    t.deepEqual(levels(t).sort(), ['info', 'info', 'info', 'warn', 'warn', 'warn']);
  });
}

test('Recovery with old data - the largest count stands', async (t) => {
  const servers = [await t.context.open(LONG_TIMEOUT), await t.context.open(LONG_TIMEOUT)];
  for (const server of servers) await repeat(server, 30, LARGE);
  await t.context.redis.command('SAVE');
  for (const server of servers) await repeat(server, 100, LARGE);
  await t.context.redis.kill();
  for (const server of servers) await repeat(server, 7, LARGE);
  await t.context.redis.startAgain();
  await waitForRecovery(...servers);
  for (const server of servers.toReversed()) await server.admit(LARGE);
  for (const server of servers) t.is(await remaining(server, LARGE), 1_000 - 267 - 2);
});

test('Recovery with all data - the largest count of refusals stands, too', async (t) => {
  const servers = [await t.context.open(LONG_TIMEOUT), await t.context.open(LONG_TIMEOUT)];
  const [one, other] = servers as [RedisLimiter, RedisLimiter];
  await repeat(one, 58, ACCOUNT);
  await other.admit(ACCOUNT);
  const full = await fill(t.context.redis);
  await repeat(one, 5, ACCOUNT); // it knows of 58
  await repeat(other, 6, ACCOUNT); // it knows of 59
  await full.undo();
  await waitForRecovery(one, other);
  for (const server of servers) await server.admit(ACCOUNT);
  t.deepEqual(totals(other.drain().usage), { requests: 60, refused: 6 });
});

test('Recovery with all data - under load a single server counts every admitted request exactly once', async (t) => {
  const limiter = await t.context.open(LONG_TIMEOUT);
  const attempt = { ...ACCOUNT, quota: { perMinute: 1_000_000, perDay: 1_000_000 } };
  let [passed, isOver] = [0, false];
  const worker = async () => {
    while (!isOver) {
      if ((await limiter.admit(attempt)).allowed) passed += 1;
      await new Promise(setImmediate); // the fallback never waits: let other work run
    }
  };
  const load = Promise.all(Array.from({ length: 20 }, worker));
  for (let outages = 0; outages < 3; outages += 1) {
    const before = passed;
    await until(() => passed > before + 200, 'the load');
    const full = await fill(t.context.redis);
    await until(() => limiter.isDegraded, 'the outage');
    const atOutage = passed;
    await until(() => passed > atOutage + 200, 'the load');
    await full.undo();
    await waitForRecovery(limiter);
  }
  isOver = true;
  await load;
  t.is(await remaining(limiter, attempt), 1_000_000 - passed);
  t.deepEqual(levels(t), ['warn', 'info', 'warn', 'info', 'warn', 'info']);
});

test('Recovery - a ban that began during the outage holds on all servers after a request to its server', async (t) => {
  const [one, other] = [await t.context.open(LONG_TIMEOUT), await t.context.open(LONG_TIMEOUT)];
  await repeat(one, 10, ACCOUNT);
  await t.context.redis.kill();
  await repeat(one, 70, ACCOUNT);
  await t.context.redis.startAgain();
  await waitForRecovery(one, other);
  for (const server of [one, other]) {
    t.like(await server.admit(ACCOUNT), { allowed: false, bannedUntilMs: NOON_MS + 300_000 });
  }
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
  const servers = [
    await t.context.open(LONG_TIMEOUT),
    await t.context.open(LONG_TIMEOUT),
    await t.context.open(LONG_TIMEOUT),
  ];
  let runs = 0;
  const property = fc.asyncProperty(steps, async (sequence) => {
    runs += 1;
    const attempt = { ...LARGE, accountId: toAccountId(BigInt(runs)) };
    const used = [0, 0, 0];
    let full: Awaited<ReturnType<typeof fill>> | undefined;
    const send = async (index: number, times: number) => {
      const { remaining: left } = await repeat(servers[index] as RedisLimiter, times, attempt);
      const before = used[index] ?? 0;
      assert.ok(1_000 - left >= before + times, `${1_000 - left} after ${before} and ${times} more`);
      used[index] = 1_000 - left;
    };
    for (const step of sequence) {
      if (step.do === 'requests') await send(step.server, step.times);
      else if (step.do === 'loss') await t.context.redis.command('FLUSHALL');
      else if (full === undefined) full = await fill(t.context.redis);
      else {
        await full.undo();
        full = undefined;
      }
    }
    await full?.undo();
    await waitForRecovery(...servers);
    const largest = Math.max(...used);
    for (const index of servers.keys()) await send(index, 1);
    for (const one of servers) {
      const count = 1_000 - (await remaining(one, attempt));
      assert.ok(count > largest && count <= largest + 3, `${count} after at most ${largest}`);
    }
  });
  await fc.assert(property, { numRuns: 25, includeErrorInReport: true });
  t.pass();
});

test('Loss of data without an outage - the count is restored with the next request', async (t) => {
  const limiter = await t.context.open(LONG_TIMEOUT);
  await repeat(limiter, 40, ACCOUNT);
  await t.context.redis.command('FLUSHALL');
  t.is(await remaining(limiter, ACCOUNT), 20);
  t.like(await limiter.admit(ACCOUNT), { remaining: 19 });
  t.deepEqual(levels(t), []);
});
