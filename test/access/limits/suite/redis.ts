/** Limiters on a Redis server or cluster of the test. */
import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { openRedisLimiter, type RedisLimiter } from '../../../../src/platform/access/limits/redis.ts';
import { until } from '../../../support/until.ts';
import { OPTIONS } from './rules.ts';

const SILENT = { info: () => undefined, warn: () => undefined };
/** A busy machine must not look like an outage. */
const LONG_MS = 30_000;

type Options = Parameters<typeof openRedisLimiter>[0];
export type RedisOptions = Partial<Options> & Pick<Options, 'redis'>;

/** Opens a limiter, by default with counts of its own. It is closed at the end of the test. */
export async function openRedis(t: ExecutionContext, options: RedisOptions): Promise<RedisLimiter> {
  const defaults = { ...OPTIONS, prefix: randomUUID(), logger: SILENT, timeoutMs: LONG_MS, time: 'attempt' } as const;
  const limiter = await openRedisLimiter({ ...defaults, ...options });
  t.teardown(() => limiter.close());
  return limiter;
}

/** Opens limiters that share new counts, like three servers. */
export function openServers(t: ExecutionContext, options: RedisOptions) {
  const shared = { prefix: randomUUID(), ...options };
  return Promise.all([openRedis(t, shared), openRedis(t, shared), openRedis(t, shared)]);
}

export async function untilBack(...limiters: readonly RedisLimiter[]): Promise<void> {
  await until(() => limiters.every(({ isDegraded }) => !isDegraded), 'Redis');
}
