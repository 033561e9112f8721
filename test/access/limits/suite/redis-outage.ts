/** A Redis server for each test, which the test can kill or pause, and the log lines of the limiters. */
import type { ExecutionContext, TestFn } from 'ava';
import type { AccountAttempt, ManagedLimiter } from '../../../../src/access/limits/limiter.ts';
import { openRedisLimiter, type RedisLimiter } from '../../../../src/access/limits/redis.ts';
import type { DayUsage } from '../../../../src/access/tables/model.ts';
import { testUnless } from '../../../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess } from '../../../support/redis.ts';
import { until } from '../../../support/until.ts';
import { ACCOUNT, OPTIONS } from './setup.ts';

interface LogLine {
  readonly level: 'info' | 'warn';
  readonly text: string;
}

export interface OutageContext {
  redis: RedisProcess;
  /** Opens a limiter, like one more server. */
  readonly open: (options?: Partial<Parameters<typeof openRedisLimiter>[0]>) => Promise<RedisLimiter>;
  readonly opened: RedisLimiter[];
  /** The log lines of all limiters of the test. */
  readonly log: LogLine[];
}

// Serial: the tests depend on timing, and each runs its own Redis server.
const { serial, beforeEach, afterEach } = testUnless<OutageContext>(MISSING_REDIS_SERVER) as TestFn<OutageContext>;
export const test = serial;

export const LARGE: AccountAttempt = { ...ACCOUNT, quota: { perMinute: 1_000, perDay: 1_000_000 } };
/** For tests without a hanging Redis: a busy machine must not look like one. */
export const LONG_TIMEOUT = { timeoutMs: 30_000 };

beforeEach(async (t) => {
  const log: LogLine[] = [];
  const opened: RedisLimiter[] = [];
  const write = (level: LogLine['level']) => (line: unknown, message?: string) => {
    log.push({ level, text: `${JSON.stringify(line)} ${message ?? ''}` });
  };
  const logger = { info: write('info'), warn: write('warn') };
  const open: OutageContext['open'] = async (options) => {
    const { config } = t.context.redis;
    const limiter = await openRedisLimiter({ ...OPTIONS, redis: config, logger, time: 'attempt', ...options });
    opened.push(limiter);
    return limiter;
  };
  t.context = { redis: await RedisProcess.start(), open, opened, log };
});

afterEach.always(async (t) => {
  for (const limiter of t.context.opened) await limiter.close();
  t.context.redis.resume();
  await t.context.redis.stop();
});

export async function waitForRecovery(...limiters: RedisLimiter[]): Promise<void> {
  await until(() => limiters.every(({ isDegraded }) => !isDegraded), 'Redis');
}

/** Makes Redis refuse all writes, so that it counts nothing, until `undo` is called. */
export async function fill(redis: RedisProcess): Promise<{ undo(): Promise<unknown> }> {
  await redis.command('CONFIG', 'SET', 'maxmemory', '1');
  return { undo: () => redis.command('CONFIG', 'SET', 'maxmemory', '0') };
}

export function levels(t: ExecutionContext<OutageContext>): string[] {
  return t.context.log.map(({ level }) => level);
}

export async function remaining(limiter: ManagedLimiter, attempt: AccountAttempt): Promise<number> {
  return (await limiter.peek(attempt)).remaining;
}

export function totals(rows: readonly DayUsage[]) {
  return rows.map(({ requests, refused }) => ({ requests, refused })).at(-1);
}
