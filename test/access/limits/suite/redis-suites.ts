/** The suites of the Redis limiter: the suite of all limiters, and that of servers that share one Redis. */
import { openRedisLimiter } from '../../../../src/access/limits/redis.ts';
import { testUnless } from '../../../support/programs.ts';
import type { TestRedis } from '../../../support/redis.ts';
import { until } from '../../../support/until.ts';
import type { LimitsTest } from './setup.ts';
import { runLimitsSuite, runSharedLimitsSuite } from './suite.ts';

const logger = { info: () => undefined, warn: () => undefined };
const timeoutMs = 30_000; // a busy machine must not look like an outage

/** Runs the suites on the server or cluster that `start` starts, unless the program is `missing`. */
export function runRedisSuites(missing: string | undefined, start: () => Promise<TestRedis>): void {
  const test: LimitsTest = testUnless(missing);
  let redis: TestRedis;

  test.before(async () => {
    redis = await start();
  });
  test.after.always(() => redis?.stop());

  runLimitsSuite(async (options, prefix) => {
    const redisOptions = { redis: redis.config, logger, prefix, timeoutMs, time: 'attempt' } as const;
    const limiter = await openRedisLimiter({ ...options, ...redisOptions });
    await until(() => !limiter.isDegraded, 'Redis');
    return limiter;
  }, test);
  runSharedLimitsSuite(test);
}
