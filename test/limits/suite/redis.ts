/** Redis as the limits engine: what every engine guarantees, and what servers with one Redis do together. */
import { openRedisLimiter } from '../../../src/limits/redis.ts';
import { testUnless } from '../../support/programs.ts';
import type { TestRedis } from '../../support/redis.ts';
import type { LimitsTest } from './engine.ts';
import { runLimitsSuite, runSharedLimitsSuite } from './suite.ts';

const logger = { info: () => undefined, warn: () => undefined };
const patienceMs = 30_000; // a busy machine is not a server that is away

/** Runs the suites on what `start` starts, a server or a cluster, unless it is `missing`. */
export function runRedisSuites(missing: string | undefined, start: () => Promise<TestRedis>): void {
  const test: LimitsTest = testUnless(missing);
  let redis: TestRedis;

  test.before(async () => {
    redis = await start();
  });
  test.after.always(() => redis?.stop());

  runLimitsSuite(
    (options, prefix) => openRedisLimiter({ ...options, redis: redis.config, logger, prefix, patienceMs }),
    test,
  );
  runSharedLimitsSuite(test);
}
