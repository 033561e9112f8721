/** Limiters on a Redis server or cluster of the test. */
import type { ExecutionContext } from 'ava';
import { openRedisLimiter, type RedisLimiter, type RedisLimiterOptions } from '../../../../src/access/limits/redis.ts';
import { until } from '../../../support/until.ts';
import { OPTIONS } from './setup.ts';

const SILENT = { info: () => undefined, warn: () => undefined };
/** A busy machine must not look like an outage. */
const LONG_MS = 30_000;

export type RedisOptions = Partial<RedisLimiterOptions> & Pick<RedisLimiterOptions, 'redis'>;

/** Opens a limiter, which is closed at the end of the test. */
export async function openRedis(t: ExecutionContext, options: RedisOptions): Promise<RedisLimiter> {
  const defaults = { ...OPTIONS, logger: SILENT, timeoutMs: LONG_MS, time: 'attempt' } as const;
  const limiter = await openRedisLimiter({ ...defaults, ...options });
  t.teardown(() => limiter.close());
  return limiter;
}

export async function untilBack(...limiters: readonly RedisLimiter[]): Promise<void> {
  await until(() => limiters.every(({ isDegraded }) => !isDegraded), 'Redis');
}
