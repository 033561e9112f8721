/** Adds a span to each call of Redis by the limiter. While Redis is unavailable there are no calls, and no spans. */
import type { RedisLimiter } from '../../access/limits/redis.ts';
import type { Tracing } from './otel.ts';

const ATTRIBUTES = { 'db.system.name': 'redis', 'db.operation.name': 'EVALSHA' };

export function traceLimiter(limiter: RedisLimiter, { inSpan, isRecording }: Tracing): RedisLimiter {
  const isTraced = () => isRecording() && !limiter.isDegraded;
  const traced: Pick<RedisLimiter, 'admit' | 'peek'> = {
    admit: (attempt) =>
      isTraced() ? inSpan('limits.admit', ATTRIBUTES, async () => limiter.admit(attempt)) : limiter.admit(attempt),
    peek: (attempt) =>
      isTraced() ? inSpan('limits.peek', ATTRIBUTES, async () => limiter.peek(attempt)) : limiter.peek(attempt),
  };
  return Object.assign(Object.create(limiter), traced);
}
