/** An outage of one node of a cluster, which is killed or frozen: every request is decided, and limits hold. */
import type { ExecutionContext, TestFn } from 'ava';
import { openRedisLimiter } from '../../../src/access/limits/redis.ts';
import { toAccountId } from '../../../src/rpc/caller.ts';
import { testUnless } from '../../support/programs.ts';
import { MISSING_REDIS_SERVER, startRedisCluster } from '../../support/redis.ts';
import { until } from '../../support/until.ts';
import { ACCOUNT, OPTIONS } from './suite/setup.ts';

const { serial: test } = testUnless(MISSING_REDIS_SERVER) as TestFn;

const ACCOUNTS = Array.from({ length: 30 }, (_, index) => ({ ...ACCOUNT, accountId: toAccountId(BigInt(index)) }));

async function start(t: ExecutionContext, timeoutMs: number) {
  const cluster = await startRedisCluster();
  t.teardown(() => cluster.stop());
  const log: string[] = [];
  const logger = { info: () => log.push('info'), warn: () => log.push('warn') };
  const open = async () => {
    const limiter = await openRedisLimiter({
      ...{ ...OPTIONS, redis: cluster.config, logger, time: 'attempt', timeoutMs },
    });
    t.teardown(() => limiter.close());
    return limiter;
  };
  return { cluster, log, open };
}

test('Cluster without one of its nodes - requests are served, and the largest counts stand afterwards', async (t) => {
  const { cluster, log, open } = await start(t, 30_000);
  const [one, other] = [await open(), await open()];
  await until(() => !one.isDegraded && !other.isDegraded, 'the cluster');
  log.length = 0;
  const each = async (limiter: typeof one) => Promise.all(ACCOUNTS.map(async (account) => limiter.admit(account)));
  await each(one);
  await each(other);
  await cluster.nodes[1]?.kill();
  for (let i = 0; i < 5; i += 1) t.true((await each(one)).every(({ allowed }) => allowed));
  for (let i = 0; i < 3; i += 1) t.true((await each(other)).every(({ allowed }) => allowed));
  t.true(one.isDegraded && other.isDegraded);
  await cluster.nodes[1]?.startAgain();
  await until(() => !one.isDegraded && !other.isDegraded, 'the cluster');

  const left = (await each(one)).map(({ remaining }) => remaining);
  t.true(Math.max(...left) <= 60 - 7 && Math.min(...left) >= 60 - 11, `${left} are left`);
  t.deepEqual(log.sort(), ['info', 'info', 'warn', 'warn']);
});

test('Cluster with a frozen node - it is noticed while other nodes reply, and no request waits for it', async (t) => {
  const { cluster, open } = await start(t, 1_000);
  const limiter = await open();
  await until(() => !limiter.isDegraded, 'the cluster');
  cluster.nodes[1]?.pause();
  t.teardown(() => cluster.nodes[1]?.resume());
  const waiting = new Set<Promise<unknown>>();
  const send = () => {
    for (const account of ACCOUNTS) {
      const sent: Promise<unknown> = Promise.resolve(limiter.admit(account)).then(() => waiting.delete(sent));
      waiting.add(sent);
    }
  };
  const load = setInterval(send, 50);
  t.teardown(() => clearInterval(load));
  await until(() => limiter.isDegraded, 'the breaker', 10_000);
  await until(() => waiting.size === 0, 'all decisions');
  const decided = limiter.fallbackDecisions;
  await until(() => limiter.fallbackDecisions > decided + 10 * ACCOUNTS.length, 'decisions of this server');
  t.true(limiter.isDegraded);
  cluster.nodes[1]?.resume();
  await until(() => !limiter.isDegraded, 'the cluster');
});
