/**
 * The limits of all servers together, in Redis.
 *
 * Algorithm: `redis.lua` judges and counts a request in one atomic step, in one round trip, so that the servers together
 * are as exact as one is in memory. Time is Redis's own: no server's clock matters.
 *
 * Failure: a request never fails for Redis's sake, and waits a second for it at the most. While Redis is away the memory
 * engine is the fallback: it goes on from what Redis said last (`lastSeen`), on this server alone; addresses start from
 * zero. When Redis is back it is told of every account once, before anything else is asked about it: totals are right
 * whichever server comes first, also when Redis has lost its data.
 *
 * What is not exact: while Redis is away a limit holds per server. Refusals from before and after an absence don't add up
 * to a ban. When Redis loses its data twice before it was told of all, some counts come in twice or not at all. Of a day
 * that ends during an absence the greatest of the servers' totals is stored, not their sum. Of the addresses without a
 * key each server tells so many apart in a minute.
 */

import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { RedisConfig } from '../config.ts';
import type { Quota } from '../model.ts';
import { RedisCircuitBreaker } from '../redis/circuit-breaker.ts';
import { RedisClient } from '../redis/client.ts';
import { AccountCounters, type AccountDay, type LastSeen } from './account-counters.ts';
import { BanTracker, banned } from './ban-tracker.ts';
import {
  type AccountAttempt,
  type Attempt,
  type Ban,
  type Decision,
  LimitsUnavailable,
  type ManagedLimiter,
  type NewBan,
} from './limiter.ts';
import { AddressCounters, createMemoryLimiter, type MemoryLimiterOptions } from './memory.ts';
import { peek, verdict } from './windows.ts';

const SCRIPT = readFileSync(new URL('./redis.lua', import.meta.url), 'utf8');
const SHA1 = createHash('sha1').update(SCRIPT).digest('hex');
/** Accounts that Redis is told of at a time, so that requests come in between. */
const BATCH = 500;
/** Addresses that nobody has, on likely all nodes of a cluster. To count them is to do what requests will ask for. */
const PROBES = Array.from({ length: 16 }, (_, index) => `probe ${index}`);

export interface RedisLimiterOptions extends MemoryLimiterOptions {
  readonly redis: RedisConfig;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** What begins the name of every key. */
  readonly prefix?: string;
  /** How long a request may wait for Redis, a second unless told. */
  readonly timeoutMs?: number;
  /** Whose time counts: Redis's own, unless told that each attempt brings it. */
  readonly time?: 'redis' | 'attempt';
}

export interface RedisLimiter extends ManagedLimiter {
  /** Whether this server counts in its own memory, or is yet to tell Redis what it has counted there. */
  readonly isDegraded: boolean;
  /** How many requests it has judged in its own memory. */
  readonly fallbackDecisions: number;
}

/** What Redis says of a subject, after the step. */
interface State extends LastSeen {
  readonly status: number;
  /** The time that it judged by. */
  readonly nowMs: number;
  /** The end of the key's ban: of the one that was in force, or that began with this refusal; else 0. */
  readonly untilMs: number;
}

const [PASSED, BANNED] = [1, 2];

/** Resolves when Redis is there, or after a second without it. */
export async function openRedisLimiter(options: RedisLimiterOptions): Promise<RedisLimiter> {
  const { logger, redis, onBan, prefix = 'petstore', time = 'redis', timeoutMs } = options;
  const { durationMs, refusals, windowMs } = options.ban;
  const client = new RedisClient(redis);
  const server = randomUUID().slice(0, 8);
  const accounts = new AccountCounters();
  const tracker = new BanTracker(options.ban);
  const addresses = new AddressCounters(options.addresses.maxTracked);
  const addressQuota: Quota = { perMinute: options.addresses.perMinute, perDay: Number.MAX_SAFE_INTEGER };
  /** The last ban of each key, with its account. */
  const bans = new Map<string, Ban & { subject: string }>();
  const noteBan = (ban: NewBan, subject: string) => {
    bans.set(ban.key, { key: ban.key, untilMs: ban.untilMs, subject });
    onBan?.(ban, subject);
  };
  const forgetBan = ({ key, untilMs }: Ban) => {
    tracker.forget(key, untilMs);
    if ((bans.get(key)?.untilMs ?? 0) <= untilMs) bans.delete(key);
  };
  const fallback = createMemoryLimiter({ ...options, onBan: noteBan }, accounts, tracker);
  /** How far Redis's time is ahead of the server's; the latest time that was told of; how often Redis came back. */
  let [aheadMs, latestMs, returns] = [0, 0, 0];
  let fallbackDecisions = 0;

  const link = new RedisCircuitBreaker({
    client,
    timeoutMs,
    async prepare(allowCommands) {
      await Promise.all(PROBES.map((subject) => askAddress({ kind: 'address', subject, nowMs: latestMs })));
      returns += 1;
      allowCommands();
      const inForce = [...bans.values()].filter(({ untilMs }) => latestMs < untilMs);
      await Promise.all(inForce.map(tellBan));
      const unmerged = () => [...accounts.today(latestMs).values()].filter(isUnmerged).slice(0, BATCH);
      for (let some = unmerged(); some.length > 0 && link.isUp; some = unmerged()) await Promise.all(some.map(merge));
    },
    onUnavailable: (cause) =>
      logger.warn({ cause }, 'Redis is unavailable: this server counts the limits by itself until Redis is back'),
    onAvailable: () => logger.info('Redis is back: it counts the limits of all servers again'),
  });

  /** All keys of a subject have its name in braces: a cluster keeps them together. */
  function windowsOf({ kind, subject }: Pick<Attempt, 'kind' | 'subject'>): string[] {
    return [`${prefix}:{${kind}:${subject}}:windows`];
  }

  function keysOf({ subject, key }: { subject: string; key: string }): string[] {
    const account = `${prefix}:{account:${subject}}`;
    return [`${account}:windows`, `${account}:refusals:${key}`, `${account}:ban:${key}`];
  }

  async function run(step: string, keys: string[], nowMs: number, args: (number | string)[]): Promise<State> {
    const strings = [step, time === 'redis' ? 0 : nowMs, server, ...args].map(String);
    const [status, minuteIndex, minuteCount, dayIndex, dayCount, refused, judgedMs, untilMs, ownMinute, ownDay, epoch] =
      (await client.run(SCRIPT, SHA1, keys, strings)) as [...Ten, string];
    const counter = { minuteIndex, minuteCount, dayIndex, dayCount };
    return { status, counter, refused, nowMs: judgedMs, untilMs, ownMinute, ownDay, epoch };
  }

  function askAddress({ nowMs, ...address }: Attempt): Promise<State> {
    return run('admit', windowsOf(address), nowMs, [addressQuota.perMinute, addressQuota.perDay]);
  }

  /** Tells Redis of a ban, and forgets it if it has been ended there meanwhile. */
  async function tellBan(ban: Ban & { subject: string }): Promise<void> {
    const { untilMs } = await run('ban', keysOf(ban), latestMs, [ban.untilMs, durationMs]);
    if (untilMs === 0) forgetBan(ban);
  }

  function isUnmerged({ mergedAfter }: AccountDay): boolean {
    return mergedAfter !== returns;
  }

  /** Tells Redis of an account. Whatever is asked about it later is answered later. */
  async function merge(account: AccountDay): Promise<void> {
    const { subject, counter, refused, lastSeen: seen } = account;
    const isMinute = seen.counter.minuteIndex === counter.minuteIndex;
    const [minuteSeen, ownMinute] = isMinute ? [seen.counter.minuteCount, seen.ownMinute] : [0, 0];
    const daySeen = seen.counter.dayCount;
    account.mergedAfter = returns;
    const minute = [counter.minuteIndex, minuteSeen, ownMinute, counter.minuteCount - minuteSeen];
    const day = [counter.dayIndex, daySeen, seen.ownDay, counter.dayCount - daySeen];
    const args = [seen.epoch, ...minute, ...day, seen.refused, 0, refused - seen.refused];
    const state = await link.ask(run('merge', keysOf({ subject, key: '-' }), latestMs, args));
    if (state?.counter.dayIndex === counter.dayIndex) see(account, state);
  }

  /** Tells Redis of an account first that it was not told of. */
  function tellCounts(subject: string, nowMs: number): void {
    const known = accounts.today(nowMs).get(subject);
    if (known !== undefined && isUnmerged(known)) void merge(known);
  }

  function see(account: AccountDay, state: State): void {
    const { counter, refused } = state;
    Object.assign(account, { lastSeen: state, mergedAfter: returns, counter: { ...counter }, refused });
    accounts.markChanged(account);
  }

  function redisTimeAt(nowMs: number): number {
    latestMs = nowMs + aheadMs;
    return latestMs;
  }

  function toRedisTime<Timed extends Attempt>(attempt: Timed): Timed {
    return { ...attempt, nowMs: redisTimeAt(attempt.nowMs) };
  }

  function fallBack(attempt: Attempt): Decision {
    fallbackDecisions += 1;
    return fallback.admit(toRedisTime(attempt));
  }

  async function admitAccount(attempt: AccountAttempt): Promise<Decision> {
    const { subject, key, quota } = attempt;
    const { nowMs } = toRedisTime(attempt);
    tellCounts(subject, nowMs);
    const limits = [quota.perMinute, quota.perDay].map((limit) => Math.min(limit, Number.MAX_SAFE_INTEGER));
    const knownMs = tracker.bannedUntil(key, nowMs) ?? 0;
    const args = [...limits, knownMs, durationMs, refusals, windowMs];
    const state = await link.ask(run('admit', keysOf(attempt), attempt.nowMs, args));
    if (state === undefined) return fallBack(attempt);
    const { status, counter, untilMs } = state;
    [latestMs, aheadMs] = [state.nowMs, state.nowMs - attempt.nowMs];
    accounts.noteUse(key, state.nowMs);
    const account = accounts.open(subject, state.nowMs);
    if (['', state.epoch].includes(account.lastSeen.epoch)) see(account, state);
    else void merge(account); // Redis has lost its data behind our backs
    if (untilMs > 0) {
      tracker.restore(key, untilMs);
      bans.set(key, { subject, key, untilMs });
    } else if (knownMs > 0) {
      forgetBan({ key, untilMs: knownMs }); // it is over, or was ended by way of another server
    }
    if (status !== BANNED) {
      const answer = verdict(status === PASSED, counter, quota, state.nowMs);
      if (answer.allowed || untilMs === 0) return answer;
      onBan?.({ key, untilMs, sinceMs: state.nowMs, refusals, window: answer.window }, subject);
      return { ...answer, beginsBan: true };
    }
    return banned(peek({ ...counter }, quota, state.nowMs), untilMs, state.nowMs);
  }

  async function admitAddress(attempt: Attempt): Promise<Decision> {
    const subject = addresses.isShared(attempt.subject, attempt.nowMs) ? 'others' : attempt.subject;
    const state = await link.ask(askAddress({ ...attempt, subject }));
    if (state === undefined) return fallBack(attempt);
    return verdict(state.status === PASSED, state.counter, addressQuota, state.nowMs);
  }

  await link.start();
  return {
    drainUsage: fallback.drainUsage,
    drainKeyUses: fallback.drainKeyUses,
    restoreUsage: fallback.restoreUsage,
    restoreBans: fallback.restoreBans,
    admit(attempt) {
      if (!link.isUp) return fallBack(attempt);
      return attempt.kind === 'account' ? admitAccount(attempt) : admitAddress(attempt);
    },
    async peek(attempt) {
      const state = link.isUp ? await link.ask(run('peek', windowsOf(attempt), attempt.nowMs, [])) : undefined;
      if (state === undefined) return fallback.peek(toRedisTime(attempt));
      return peek({ ...state.counter }, attempt.kind === 'account' ? attempt.quota : addressQuota, state.nowMs);
    },
    async counts(subject, nowMs) {
      const ask = () => {
        tellCounts(subject, redisTimeAt(nowMs));
        return link.ask(run('peek', windowsOf({ kind: 'account', subject }), nowMs, []));
      };
      const state = link.isUp ? await ask() : undefined;
      if (state === undefined) return { ...fallback.counts(subject, redisTimeAt(nowMs)), isLocal: true };
      return { counter: state.counter, refused: state.refused, isLocal: !link.isBack };
    },
    async unban(subject, key, nowMs) {
      const knownMs = tracker.bannedUntil(key, redisTimeAt(nowMs)) ?? 0;
      const unbanning = () => run('unban', keysOf({ subject, key }), nowMs, [knownMs, durationMs]);
      const state = link.isBack ? await link.ask(unbanning()) : undefined;
      if (state === undefined) throw new LimitsUnavailable('Redis is unavailable');
      forgetBan({ key, untilMs: state.untilMs });
      return state.untilMs;
    },
    forgetBan,
    get isDegraded() {
      return !link.isBack;
    },
    get fallbackDecisions() {
      return fallbackDecisions;
    },
    close: () => link.close(),
  };
}

type Ten = [number, number, number, number, number, number, number, number, number, number];
