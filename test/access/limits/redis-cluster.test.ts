/** A Redis cluster of which one node is killed or frozen. */
import { randomUUID } from 'node:crypto';
import { toAccountId } from '../../../src/platform/rpc/caller.ts';
import { MISSING_REDIS_SERVER, startRedisCluster } from '../../support/machine/redis.ts';
import { sharing } from '../../support/service/sharing.ts';
import { until } from '../../support/until.ts';
import { openRedis, untilBack } from './suite/redis.ts';
import { ACCOUNT } from './suite/setup.ts';

const test = sharing(MISSING_REDIS_SERVER, startRedisCluster);

const ACCOUNTS = Array.from({ length: 30 }, (_, index) => ({ ...ACCOUNT, accountId: toAccountId(BigInt(index)) }));
const log: string[] = [];
const logger = { info: () => log.push('info'), warn: () => log.push('warn') };

test.serial('Cluster without a node - requests are served, and the largest counts stand afterwards', async (t) => {
  const { context: cluster } = t;
  const options = { redis: cluster.config, logger, prefix: randomUUID() };
  const [one, other] = [await openRedis(t, options), await openRedis(t, options)];
  await untilBack(one, other);
  log.length = 0;
  const each = (limiter: typeof one) => Promise.all(ACCOUNTS.map(async (account) => limiter.admit(account)));
  await each(one);
  await each(other);
  await cluster.nodes[1]?.kill();
  for (const limiter of [one, one, one, one, one, other, other, other]) {
    t.true((await each(limiter)).every(({ allowed }) => allowed));
  }
  t.true(one.isDegraded && other.isDegraded);
  await cluster.nodes[1]?.startAgain();
  await untilBack(one, other);
  const left = (await each(one)).map(({ remaining }) => remaining);
  t.true(Math.max(...left) <= 60 - 7 && Math.min(...left) >= 60 - 11, `${left} are left`);
  t.deepEqual(log.sort(), ['info', 'info', 'warn', 'warn']);
});

test.serial('Cluster with a frozen node - it is noticed while others reply, and no request waits', async (t) => {
  const { context: cluster } = t;
  const limiter = await openRedis(t, { redis: cluster.config, timeoutMs: 500 });
  await untilBack(limiter);
  cluster.nodes[1]?.pause();
  t.teardown(() => cluster.nodes[1]?.resume());
  let [waiting, decided] = [0, 0];
  const send = async (account: typeof ACCOUNT) => {
    waiting += 1;
    await limiter.admit(account);
    waiting -= 1;
    if (limiter.isDegraded) decided += 1;
  };
  const load = setInterval(() => ACCOUNTS.forEach((account) => void send(account)), 50);
  t.teardown(() => clearInterval(load));
  await until(() => limiter.isDegraded, 'the breaker', 10_000);
  await until(() => waiting === 0, 'all decisions');
  const before = decided;
  await until(() => decided > before + 10 * ACCOUNTS.length, 'decisions of this server');
  cluster.nodes[1]?.resume();
  await untilBack(limiter);
  t.pass();
});
