/**
 * The limits of all servers together, in Redis.
 *
 * Algorithm: `redis.lua` decides on a request and counts it in one atomic step, in one round trip, so that the servers
 * together are as exact as one is in memory. Time is Redis's own: no server's clock matters.
 *
 * Failure: a request never fails because of Redis, and waits a second for it at most. While Redis is unavailable, the
 * memory limiter is the fallback: each server continues alone from the counts that it last saw (`lastSeen`); addresses
 * start from zero. When Redis is available again, each account's local counts are merged into it once, before any other
 * command for that account. The totals are right whichever server comes first, also when Redis has lost its data.
 *
 * What is not exact: while Redis is unavailable, a limit holds per server. Refusals from before and after an outage
 * don't add up to a ban. When Redis loses its data twice before all counts are merged, some counts are added twice or
 * not at all. Of a day that ends during an outage the greatest of the servers' totals is stored, not their sum. Each
 * server tracks only so many addresses in a minute.
 */
import type { Logger } from 'pino';
import type { RedisConfig } from '../config.ts';
import type { AccountId, KeyId, Quota } from '../model.ts';
import { RedisCircuitBreaker } from '../redis/circuit-breaker.ts';
import { RedisClient } from '../redis/client.ts';
import { AccountCounters, type AccountDay } from './account-counters.ts';
import { AddressCounters } from './address-counters.ts';
import { BanTracker, toBanned } from './ban-tracker.ts';
import {
  type AccountAttempt,
  type AddressAttempt,
  type Attempt,
  type Ban,
  type Decision,
  LimitsUnavailable,
  type ManagedLimiter,
} from './limiter.ts';
import { createMemoryLimiter, type MemoryLimiterOptions } from './memory.ts';
import { type AccountBan, LimitScript, type LimitScriptOptions, type SubjectState } from './redis-script.ts';
import { toAddress } from './subjects.ts';
import { peek, toVerdict } from './windows.ts';

/** Accounts that are merged at a time, so that requests come in between. */
const MERGE_BATCH = 500;
/** Addresses that no caller has, probably on all nodes of a cluster. If they can be counted, requests can. */
const PROBES = Array.from({ length: 16 }, (_, index) => toAddress(`probe ${index}`));
/** The counter that the addresses beyond `maxTracked` share. */
const SHARED_ADDRESS = toAddress('others');

export interface RedisLimiterOptions extends MemoryLimiterOptions, LimitScriptOptions {
  readonly redis: RedisConfig;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** How long a request may wait for Redis. Default: a second. */
  readonly timeoutMs?: number;
}

export interface RedisLimiter extends ManagedLimiter {
  /** Redis is unavailable, or this server has not yet merged all of its local counts into it. */
  readonly isDegraded: boolean;
  /** How many requests the fallback has decided on. */
  readonly fallbackDecisions: number;
}

/** Resolves when Redis is available, or after a second without it. */
export async function openRedisLimiter(options: RedisLimiterOptions): Promise<RedisLimiter> {
  const { logger, onBan, timeoutMs } = options;
  const client = new RedisClient(options.redis);
  const script = new LimitScript(client, options);
  const accounts = new AccountCounters();
  const banTracker = new BanTracker(options.ban);
  const addresses = new AddressCounters(options.addresses.maxTracked);
  const addressQuota: Quota = { perMinute: options.addresses.perMinute, perDay: Number.POSITIVE_INFINITY };
  /** The last ban of each key. Redis may have lost it, or not know of it yet. */
  const bans = new Map<KeyId, AccountBan>();
  const fallback = createMemoryLimiter(
    {
      ...options,
      onBan(ban, accountId) {
        bans.set(ban.keyId, { accountId, keyId: ban.keyId, untilMs: ban.untilMs });
        onBan?.(ban, accountId);
      },
    },
    accounts,
    banTracker,
  );
  let fallbackDecisions = 0;
  /** Redis's clock minus this server's. */
  let clockOffsetMs = 0;
  /** The latest known time, by Redis's clock. */
  let latestMs = 0;
  /** How often Redis has become available. Each time, all accounts have to be merged. */
  let mergeRound = 0;

  const breaker = new RedisCircuitBreaker({
    client,
    timeoutMs,
    async prepare(allowCommands) {
      await Promise.all(PROBES.map((address) => script.admitAddress({ kind: 'address', address, nowMs: latestMs })));
      mergeRound += 1;
      allowCommands();
      await sendBans();
      await mergeAll();
    },
    onUnavailable(cause) {
      logger.warn({ cause }, 'Redis is unavailable: this server counts the limits by itself until Redis is back');
    },
    onAvailable: () => logger.info('Redis is back: it counts the limits of all servers again'),
  });

  function toRedisTime(nowMs: number): number {
    latestMs = nowMs + clockOffsetMs;
    return latestMs;
  }

  function decideLocally(attempt: Attempt): Decision {
    fallbackDecisions += 1;
    return fallback.admit({ ...attempt, nowMs: toRedisTime(attempt.nowMs) });
  }

  async function admitAccount(attempt: AccountAttempt): Promise<Decision> {
    const { accountId, keyId, quota } = attempt;
    const localMs = toRedisTime(attempt.nowMs);
    mergeFirst(accountId, localMs);
    const knownBanMs = banTracker.bannedUntil(keyId, localMs) ?? 0;
    const state = await breaker.guard(script.admitAccount(attempt, knownBanMs));
    if (state === undefined) return decideLocally(attempt);
    const { status, counter, nowMs, bannedUntilMs } = state;
    latestMs = nowMs;
    clockOffsetMs = nowMs - attempt.nowMs;
    accounts.recordKeyUse(keyId, nowMs);
    const account = accounts.getOrAdd(accountId, nowMs);
    const { epoch } = account.lastSeen;
    if (epoch === '' || epoch === state.epoch) updateFrom(account, state);
    else void merge(account); // Redis has lost its data, and the breaker has not noticed
    if (bannedUntilMs > 0) {
      banTracker.restore(keyId, bannedUntilMs);
      bans.set(keyId, { accountId, keyId, untilMs: bannedUntilMs });
    } else if (knownBanMs > 0) {
      forgetBan({ keyId, untilMs: knownBanMs }); // it has ended, or the operator has ended it through another server
    }
    if (status === 'banned') return toBanned(peek({ ...counter }, quota, nowMs), bannedUntilMs, nowMs);
    const verdict = toVerdict(status === 'admitted', counter, quota, nowMs);
    if (verdict.allowed || bannedUntilMs === 0) return verdict;
    const { refusals } = options.ban;
    onBan?.({ keyId, untilMs: bannedUntilMs, sinceMs: nowMs, refusals, window: verdict.window }, accountId);
    return { ...verdict, beginsBan: true };
  }

  async function admitAddress(attempt: AddressAttempt): Promise<Decision> {
    const address = addresses.isShared(attempt.address, attempt.nowMs) ? SHARED_ADDRESS : attempt.address;
    const state = await breaker.guard(script.admitAddress({ ...attempt, address }));
    if (state === undefined) return decideLocally(attempt);
    return toVerdict(state.status === 'admitted', state.counter, addressQuota, state.nowMs);
  }

  function isMerged(account: AccountDay): boolean {
    return account.mergeRound === mergeRound;
  }

  /** Merges an account's local counts into Redis. Commands that are sent later are executed later. */
  async function merge(account: AccountDay): Promise<void> {
    const { counter } = account;
    account.mergeRound = mergeRound;
    const state = await breaker.guard(script.merge(account, latestMs));
    if (state?.counter.dayIndex === counter.dayIndex) updateFrom(account, state);
  }

  function mergeFirst(accountId: AccountId, nowMs: number): void {
    const account = accounts.ofDay(nowMs).get(accountId);
    if (account !== undefined && !isMerged(account)) void merge(account);
  }

  async function mergeAll(): Promise<void> {
    const nextBatch = () =>
      [...accounts.ofDay(latestMs).values()].filter((one) => !isMerged(one)).slice(0, MERGE_BATCH);
    for (let batch = nextBatch(); batch.length > 0 && breaker.isAvailable; batch = nextBatch()) {
      await Promise.all(batch.map(merge));
    }
  }

  function updateFrom(account: AccountDay, state: SubjectState): void {
    const { counter, refused } = state;
    Object.assign(account, { lastSeen: state, mergeRound, counter: { ...counter }, refused });
    accounts.markChanged(account);
  }

  /** Sends the bans in force to Redis, and forgets those that have been ended there. */
  async function sendBans(): Promise<void> {
    const inForce = [...bans.values()].filter(({ untilMs }) => latestMs < untilMs);
    const send = async (ban: AccountBan) => {
      if ((await script.addBan(ban, latestMs)).bannedUntilMs === 0) forgetBan(ban);
    };
    await Promise.all(inForce.map(send));
  }

  function forgetBan({ keyId, untilMs }: Ban): void {
    banTracker.forget(keyId, untilMs);
    if ((bans.get(keyId)?.untilMs ?? 0) <= untilMs) bans.delete(keyId);
  }

  await breaker.start();
  return {
    admit(attempt) {
      if (!breaker.isAvailable) return decideLocally(attempt);
      return attempt.kind === 'account' ? admitAccount(attempt) : admitAddress(attempt);
    },
    async peek(attempt) {
      const state = breaker.isAvailable ? await breaker.guard(script.peek(attempt, attempt.nowMs)) : undefined;
      if (state === undefined) return fallback.peek({ ...attempt, nowMs: toRedisTime(attempt.nowMs) });
      return peek({ ...state.counter }, attempt.kind === 'account' ? attempt.quota : addressQuota, state.nowMs);
    },
    async counts(accountId, nowMs) {
      const read = () => {
        mergeFirst(accountId, toRedisTime(nowMs));
        return breaker.guard(script.peek({ kind: 'account', accountId }, nowMs));
      };
      const state = breaker.isAvailable ? await read() : undefined;
      if (state === undefined) return { ...fallback.counts(accountId, toRedisTime(nowMs)), isLocal: true };
      return { counter: state.counter, refused: state.refused, isLocal: !breaker.isReady };
    },
    async unban(accountId, keyId, nowMs) {
      const untilMs = banTracker.bannedUntil(keyId, toRedisTime(nowMs)) ?? 0;
      const send = () => breaker.guard(script.unban({ accountId, keyId, untilMs }, nowMs));
      const state = breaker.isReady ? await send() : undefined;
      if (state === undefined) throw new LimitsUnavailable('Redis is unavailable');
      forgetBan({ keyId, untilMs: state.bannedUntilMs });
      return state.bannedUntilMs;
    },
    drainUsage: fallback.drainUsage,
    drainKeyUses: fallback.drainKeyUses,
    restoreUsage: fallback.restoreUsage,
    restoreBans: fallback.restoreBans,
    forgetBan,
    get isDegraded() {
      return !breaker.isReady;
    },
    get fallbackDecisions() {
      return fallbackDecisions;
    },
    close: () => breaker.close(),
  };
}
