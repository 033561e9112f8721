/**
 * The limits of all servers together, in Redis.
 *
 * Algorithm: `redis.lua` decides on a request and counts it in one atomic step, in one round trip, so that the servers
 * together are as exact as one is in memory. Time is Redis's own. What Redis replies is kept in a memory limiter.
 *
 * Failure: a request never fails because of Redis, and waits for it no longer than a command may take. While Redis is
 * unavailable the memory limiter decides: each server counts alone from what it last knew. Each request brings along
 * what its server knows, and the script keeps the larger counts. So when Redis is back the largest counts stand,
 * whichever server comes first, also when Redis has lost its data; what the other servers counted meanwhile is lost.
 */
import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { newBan, toBanned } from './ban-tracker.ts';
import type { Attempt, Decision, ManagedLimiter, Subject } from './limiter.ts';
import { createMemoryLimiter, type MemoryLimiterOptions, quotaOf } from './memory.ts';
import { RedisClient, type RedisClientOptions } from './redis-client.ts';
import { createLimitScript, type LimitScriptOptions, type SubjectState } from './redis-script.ts';
import { newCounter, peek, toVerdict } from './windows.ts';

/** Addresses that no caller has, probably on all nodes of a cluster. If they can be counted, requests can. */
const PROBES = Array.from({ length: 16 }, (_, index) => ({
  subject: { kind: 'address', address: `probe ${index}` } as const,
  ...{ counter: newCounter(0), lastBanEndMs: 0 },
}));

type ClientOptions = Pick<RedisClientOptions, 'redis' | 'timeoutMs'>;

export interface RedisLimiterOptions extends MemoryLimiterOptions, LimitScriptOptions, ClientOptions {
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

export interface RedisLimiter extends ManagedLimiter {
  /** Redis is unavailable: this server counts alone. */
  readonly isDegraded: boolean;
  /** How many requests this server has decided on alone. */
  readonly fallbackDecisions: number;
}

/** Resolves when Redis is available, or after a second without it. */
export async function openRedisLimiter(options: RedisLimiterOptions): Promise<RedisLimiter> {
  const { logger, onBan } = options;
  const client = new RedisClient({
    ...options,
    onUnavailable(cause) {
      logger.warn({ cause }, 'Redis is unavailable: this server counts the limits by itself until Redis is back');
    },
    onAvailable: () => logger.info('Redis is back: it counts the limits of all servers again'),
  });
  const script = createLimitScript(client, options);
  const memory = createMemoryLimiter(options);
  let fallbackDecisions = 0;

  function toDecision(attempt: Attempt, { status, counter, nowMs, bannedUntilMs }: SubjectState): Decision {
    const verdict = toVerdict(status === 'admitted', counter, quotaOf(attempt, options), nowMs);
    if (status === 'banned') return toBanned(verdict, bannedUntilMs, nowMs);
    if (attempt.kind === 'address' || verdict.allowed || bannedUntilMs === 0) return verdict;
    onBan?.(newBan(attempt.keyId, options.ban, nowMs, verdict));
    return { ...verdict, beginsBan: true };
  }

  function read(subject: Subject, nowMs: number): Promise<SubjectState | undefined> {
    return client.run(() => script.read(memory.known(subject, nowMs), nowMs));
  }

  await client.start(() =>
    Promise.all(PROBES.map((probe) => script.admit({ ...probe.subject, nowMs: Date.now() }, probe))),
  );
  void warnOfEviction(client, logger);
  return {
    ...memory,
    async admit(attempt) {
      const state = await client.run(() => script.admit(attempt, memory.known(attempt, attempt.nowMs)));
      if (state === undefined) {
        fallbackDecisions += 1;
        return memory.admit(attempt);
      }
      memory.learn(attempt, state);
      return toDecision(attempt, state);
    },
    async peek(attempt) {
      const state = await read(attempt, attempt.nowMs);
      return state === undefined ? memory.peek(attempt) : peek(state.counter, quotaOf(attempt, options), state.nowMs);
    },
    async now() {
      const nowMs = Date.now();
      return (await read({ kind: 'address', address: '' }, nowMs))?.nowMs ?? nowMs;
    },
    async counts(accountId, nowMs) {
      const state = await read({ kind: 'account', accountId }, nowMs);
      if (state === undefined) return { ...memory.counts(accountId, nowMs), isLocal: true };
      return { counter: state.counter, isLocal: false };
    },
    async unban(accountId, keyId, nowMs) {
      const untilMs = await client.run(() => script.unban(accountId, keyId, nowMs));
      if (untilMs !== undefined) memory.unban(accountId, keyId, nowMs);
      return untilMs;
    },
    get isDegraded() {
      return !client.isAvailable;
    },
    get fallbackDecisions() {
      return fallbackDecisions;
    },
    async countStreams(accountId, own, max) {
      return (await client.run(() => script.streams(accountId, own, max))) ?? true;
    },
    close: () => client.close(),
  };
}

const MEMORY = "return redis.call('INFO', 'memory')";

/** With another policy than `noeviction` Redis forgets counts and bans when its memory is full. */
async function warnOfEviction(client: RedisClient, logger: Pick<Logger, 'warn'>): Promise<void> {
  const sha1 = createHash('sha1').update(MEMORY).digest('hex');
  const memory = String(await client.evaluate(MEMORY, sha1, [], []).catch(() => '')); // it may be forbidden to ask
  const [, policy = 'noeviction'] = /^maxmemory_policy:(\S+)/m.exec(memory) ?? [];
  if (policy === 'noeviction' || !/^maxmemory:[1-9]/m.test(memory)) return;
  logger.warn({ policy }, 'Redis forgets limits and bans when its memory is full: set maxmemory-policy noeviction');
}
