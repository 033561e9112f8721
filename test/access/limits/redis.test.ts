/** The Redis limiter: the rules of all limiters, and those of servers that share one Redis. */
import { randomUUID } from 'node:crypto';
import { testUnless } from '../../support/programs.ts';
import { MISSING_REDIS, startRedis, type TestRedis } from '../../support/redis.ts';
import { modelTests } from './suite/model.ts';
import { openRedis, untilBack } from './suite/redis.ts';
import { reportTests } from './suite/reports.ts';
import { ruleTests } from './suite/rules.ts';
import { serverTests } from './suite/servers.ts';
import type { Open } from './suite/setup.ts';

const test = testUnless<unknown>(MISSING_REDIS);
let redis: TestRedis;

test.before(async () => {
  redis = await startRedis();
});
test.after.always(() => redis?.stop());

const open: Open = async (t, options, state = randomUUID()) => {
  const limiter = await openRedis(t, { ...options, redis: redis.config, prefix: `test-${state}` });
  await untilBack(limiter);
  return limiter;
};
ruleTests(test, open);
reportTests(test, open);
modelTests(test, open);
serverTests(test, open);
