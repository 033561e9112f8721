/** The suites of the Redis limiter: the suite of all limiters, and that of servers that share one Redis. */
import type { Attempt, Limiter } from '../../../src/limits/limiter.ts';
import { openRedisLimiter } from '../../../src/limits/redis.ts';
import { ignoreBackwardStep } from '../../../src/limits/windows.ts';
import { testUnless } from '../../support/programs.ts';
import type { TestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';
import type { LimitsTest } from './setup.ts';
import { runLimitsSuite, runSharedLimitsSuite } from './suite.ts';

const logger = { info: () => undefined, warn: () => undefined };
const timeoutMs = 30_000; // a busy machine must not look like an outage

/** Ignores small steps back of the tests' time, which Redis's own clock does not make. */
function onOneClock(limiter: Limiter): Limiter {
  let latestMs = Number.NEGATIVE_INFINITY;
  const timed = (attempt: Attempt): Attempt => {
    latestMs = ignoreBackwardStep(latestMs, attempt.nowMs);
    return { ...attempt, nowMs: latestMs };
  };
  return { admit: (attempt) => limiter.admit(timed(attempt)), peek: (attempt) => limiter.peek(timed(attempt)) };
}

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
    return { ...limiter, ...onOneClock(limiter) };
  }, test);
  runSharedLimitsSuite(test);
}
