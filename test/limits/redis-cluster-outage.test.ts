/** An outage of one node of a cluster: limits hold, and no counts are lost. */

import type { TestFn } from 'ava';
import { openRedisLimiter } from '../../src/limits/redis.ts';
import { toAccountId } from '../../src/model.ts';
import { testUnless } from '../support/programs.ts';
import { MISSING_REDIS_SERVER, startRedisCluster } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { ACCOUNT, OPTIONS } from './suite/setup.ts';

const test: TestFn = testUnless(MISSING_REDIS_SERVER);

test('Cluster without one of its nodes - requests are served, and merged when the node is back', async (t) => {
  const cluster = await startRedisCluster();
  t.teardown(() => cluster.stop());
  const log: string[] = [];
  const logger = { info: () => log.push('info'), warn: () => log.push('warn') };
  const open = () =>
    openRedisLimiter({ ...OPTIONS, redis: cluster.config, logger, time: 'attempt', timeoutMs: 30_000 });
  const [one, other] = [await open(), await open()];
  t.teardown(() => Promise.all([one.close(), other.close()]));

  const accounts = Array.from({ length: 30 }, (_, index) => ({ ...ACCOUNT, accountId: toAccountId(BigInt(index)) }));
  const each = async (limiter: typeof one) => Promise.all(accounts.map(async (account) => limiter.admit(account)));
  await each(one);
  await each(other);
  await cluster.nodes[1]?.kill();
  for (let i = 0; i < 5; i += 1) t.true((await each(one)).every(({ allowed }) => allowed));
  for (let i = 0; i < 3; i += 1) t.true((await each(other)).every(({ allowed }) => allowed));
  t.true(one.isDegraded && other.isDegraded);
  await cluster.nodes[1]?.startAgain();
  await until(() => !one.isDegraded && !other.isDegraded, 'the cluster');

  const left = await Promise.all(accounts.map(async (account) => (await one.peek(account)).remaining));
  // Requests in flight during the loss may be counted twice if they went to other nodes: by Redis and by the server.
  t.true(Math.max(...left) <= 60 - 10 && Math.min(...left) >= 60 - 10 - 2, `${left} are left`);
  t.deepEqual(log.sort(), ['info', 'info', 'warn', 'warn']);
});
