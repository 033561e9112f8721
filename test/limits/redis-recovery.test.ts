/** Redis recovers with all, some or none of its data: no counts from before or during the outage are lost. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { RedisLimiter } from '../../src/limits/redis.ts';
import { toAccountId } from '../../src/model.ts';
import { until } from '../support/until.ts';
import { fill, LARGE, LONG_TIMEOUT, levels, remaining, test, totals, waitForRecovery } from './suite/redis-outage.ts';
import { ACCOUNT, NOON_MS, repeat } from './suite/setup.ts';

test('Recovery without data - the totals of 3 servers are merged exactly, whichever comes first', async (t) => {
  const servers = [
    await t.context.open(LONG_TIMEOUT),
    await t.context.open(LONG_TIMEOUT),
    await t.context.open(LONG_TIMEOUT),
  ];
  // Each server has last seen another total: 100, 300 and 600.
  for (const [index, server] of servers.entries()) await repeat(server, (index + 1) * 100, LARGE);
  await t.context.redis.kill();
  for (const [index, server] of servers.entries()) await repeat(server, index + 5, LARGE);
  await t.context.redis.startAgain();
  await waitForRecovery(...servers);
  for (const server of servers) t.is(await remaining(server, LARGE), 1_000 - 600 - 5 - 6 - 7);
  for (const server of servers) {
    await server.admit(LARGE);
  }
  t.deepEqual(totals(servers[2]?.drainUsage() ?? []), { requests: 621, refused: 0 });
  t.deepEqual(levels(t).sort(), ['info', 'info', 'info', 'warn', 'warn', 'warn']);
});

test('Recovery with old data - the totals are merged exactly', async (t) => {
  const servers = [await t.context.open(LONG_TIMEOUT), await t.context.open(LONG_TIMEOUT)];
  for (const server of servers) await repeat(server, 30, LARGE);
  await t.context.redis.command('SAVE');
  for (const server of servers) await repeat(server, 100, LARGE);
  await t.context.redis.kill();
  for (const server of servers) await repeat(server, 7, LARGE);
  await t.context.redis.startAgain();
  await waitForRecovery(...servers);
  for (const server of servers) t.is(await remaining(server, LARGE), 1_000 - 260 - 14);
});

test('Recovery with all data - the totals are merged exactly, refusals too', async (t) => {
  const servers = [await t.context.open(LONG_TIMEOUT), await t.context.open(LONG_TIMEOUT)];
  for (const server of servers) await repeat(server, 10, ACCOUNT);
  const full = await fill(t.context.redis);
  for (const server of servers) await repeat(server, 15, ACCOUNT);
  await full.undo();
  await waitForRecovery(...servers);
  for (const server of servers) t.is(await remaining(server, ACCOUNT), 60 - 20 - 30);
  await repeat(servers[0] as RedisLimiter, 11, ACCOUNT);
  t.deepEqual(totals(servers[0]?.drainUsage() ?? []), { requests: 60, refused: 1 });
});

test('Recovery with all data - under load every admitted request is counted exactly once', async (t) => {
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

test('Recovery - many accounts are merged, each exactly', async (t) => {
  const [one, other] = [await t.context.open(LONG_TIMEOUT), await t.context.open(LONG_TIMEOUT)];
  const accounts = Array.from({ length: 3_000 }, (_, index) => ({ ...ACCOUNT, accountId: toAccountId(BigInt(index)) }));
  await Promise.all(accounts.map((account) => one.admit(account)));
  await t.context.redis.kill();
  await Promise.all(accounts.map((account) => one.admit(account)));
  await t.context.redis.startAgain();
  await waitForRecovery(one, other);
  const left = await Promise.all(accounts.map((account) => remaining(other, account)));
  t.deepEqual([...new Set(left)], [58]);
});

test('Recovery - a ban that began during the outage holds on all servers', async (t) => {
  const [one, other] = [await t.context.open(LONG_TIMEOUT), await t.context.open(LONG_TIMEOUT)];
  await repeat(one, 10, ACCOUNT);
  await t.context.redis.kill();
  await repeat(one, 70, ACCOUNT);
  await t.context.redis.startAgain();
  await waitForRecovery(one, other);
  t.like(await other.admit(ACCOUNT), { allowed: false, bannedUntilMs: NOON_MS + 300_000 });
});

// `assert` and not `t` inside a property: fast-check then reports the smallest sequence that fails.
test('Model - any sequence of requests and outages, with one loss of data, loses no counts', async (t) => {
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
    let [counted, hasLost]: [number, boolean] = [0, false];
    let full: Awaited<ReturnType<typeof fill>> | undefined;
    for (const step of sequence) {
      if (step.do === 'requests') {
        await repeat(servers[step.server] as RedisLimiter, step.times, attempt);
        counted += step.times;
      } else if (step.do === 'loss') {
        if (!hasLost) await t.context.redis.command('FLUSHALL');
        hasLost = true;
      } else if (full === undefined) {
        full = await fill(t.context.redis);
      } else {
        await full.undo();
        full = undefined;
      }
    }
    await full?.undo();
    await waitForRecovery(...servers);
    // A server that has not noticed the loss merges its counts with its next request.
    for (const one of servers) await one.admit(attempt);
    for (const one of servers) {
      const left = () => remaining(one, attempt);
      await until(async () => (await left()) === 1_000 - counted - 3, `${counted + 3}`, 5_000).catch(async (error) => {
        assert.equal(1_000 - (await left()), counted + 3, String(error));
      });
    }
  });
  await fc.assert(property, { numRuns: 25, includeErrorInReport: true });
  t.pass();
});

test('Loss of data without an outage - counts are restored with the next requests', async (t) => {
  const limiter = await t.context.open(LONG_TIMEOUT);
  await repeat(limiter, 40, ACCOUNT);
  await t.context.redis.command('FLUSHALL');
  await limiter.admit(ACCOUNT);
  await until(async () => (await remaining(limiter, ACCOUNT)) === 19, 'the restored counts');
  t.deepEqual(levels(t), []);
});
