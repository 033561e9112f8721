/** Adds a span to each call of Redis by the limiter. While Redis is unavailable there are no calls, and no spans. */
import type { RedisLimiter } from '../../access/limits/redis.ts';
import type { Tracing } from './otel.ts';

const ATTRIBUTES = { 'db.system.name': 'redis', 'db.operation.name': 'EVALSHA' };

export function traceLimiter(limiter: RedisLimiter, { inSpan }: Tracing): RedisLimiter {
  const call = async <T>(name: string, work: () => T | Promise<T>): Promise<T> =>
    limiter.isDegraded ? work() : inSpan(name, ATTRIBUTES, async () => work());
  const traced: Pick<RedisLimiter, 'admit' | 'peek'> = {
    admit: (attempt) => call('limits.admit', () => limiter.admit(attempt)),
    peek: (attempt) => call('limits.peek', () => limiter.peek(attempt)),
  };
  return Object.assign(Object.create(limiter), traced);
}
