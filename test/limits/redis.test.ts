/** Redis as the limits engine: what every engine guarantees, and what servers with one Redis do together. */
import { openRedisLimiter } from '../../src/limits/redis.ts';
import { testUnless } from '../support/programs.ts';
import { MISSING_REDIS, startRedis, type TestRedis } from '../support/redis.ts';
import type { LimitsTest } from './suite/engine.ts';
import { runLimitsSuite, runSharedLimitsSuite } from './suite/suite.ts';

const test: LimitsTest = testUnless(MISSING_REDIS);
let redis: TestRedis;

test.before(async () => {
  redis = await startRedis();
});
test.after.always(() => redis?.stop());

const logger = { info: () => undefined, warn: () => undefined };
const patienceMs = 30_000; // a busy machine is not a server that is away

runLimitsSuite(
  (options, prefix) => openRedisLimiter({ ...options, redis: redis.config, logger, prefix, patienceMs }),
  test,
);
runSharedLimitsSuite(test);
