/**
 * The limits of all servers together, in Redis.
 *
 * Algorithm: `redis.lua` judges and counts a request in one atomic step, in one round trip, so that the servers together
 * are as exact as one is in memory. Time is the servers' own; where their clocks differ, an account lives by the one
 * that is ahead, and nothing is to be had twice.
 *
 * Failure: a request never fails for Redis's sake, and waits a quarter of a second for it at the most. While Redis is
 * away, each server counts in its memory, from where Redis was when last heard (`shadow.ts`); addresses start from
 * zero. When it is back, each server brings in what it counted meanwhile, then takes Redis up again: totals are right
 * whichever server comes first, also when Redis has lost its data. Away is said once in the log, and so is back.
 *
 * What is not exact, and to which side: while Redis is away a limit holds per server. A request whose answer was lost may
 * count twice, once on either side; so may a server's counts when Redis goes away again while they are brought in: both
 * refuse sooner rather than later. Refusals from before and after an absence don't add up to a ban. When Redis
 * loses its data twice before a server has noticed, what is only known to have been before the first may be lost. Of a day that ends
 * during an absence the greatest of the servers' totals is stored, not their sum. Of the addresses without a key each
 * server tells so many apart in a minute, and Redis forgets them soon after it.
 */
import type { Logger } from 'pino';
import type { RedisConfig } from '../config.ts';
import type { RedisConnection } from '../redis/connection.ts';
import { RedisLink } from '../redis/link.ts';
import type { AccountDay } from './accounts.ts';
import { banned } from './bans.ts';
import type { AccountAttempt, Attempt, Decision, LimitsEngine } from './limiter.ts';
import type { MemoryLimiterOptions } from './memory.ts';
import { type RedisState, RedisStates } from './redis-state.ts';
import { Shadow, type Unmerged } from './shadow.ts';
import { minuteIndexAt, peek, type Quota, verdict } from './windows.ts';

/** Accounts that are brought to Redis at a time, so that requests come in between. */
const BATCH = 500;
/** How often accounts that have changed meanwhile are brought in before Redis is taken up in any case. */
const ROUNDS = 3;
/** What begins the name of every key. */
const PREFIX = 'petstore';
/** For all addresses beyond those told apart. */
const OTHERS = 'others';

export interface RedisLimiterOptions extends MemoryLimiterOptions {
  readonly redis: RedisConfig;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly prefix?: string;
  /** How long a request may wait for Redis, a quarter of a second unless told. */
  readonly patienceMs?: number;
}

export interface RedisLimiter extends LimitsEngine {
  /** Whether this server counts in its own memory at the moment. */
  readonly isAway: boolean;
}

/** Resolves when Redis is there, or after a second without it. */
export async function openRedisLimiter(options: RedisLimiterOptions): Promise<RedisLimiter> {
  const { logger, redis } = options;
  const shadow = new Shadow(options);
  const states = new RedisStates(options.prefix ?? PREFIX, options.ban);
  const addresses = new ToldApart(options.addresses.maxTracked);
  const addressQuota: Quota = { perMinute: options.addresses.perMinute, perDay: Number.POSITIVE_INFINITY };

  const link = new RedisLink({
    redis,
    patienceMs: options.patienceMs,
    prepare: takeOver,
    onAway: ({ message }) =>
      logger.warn({ cause: message }, 'Redis is away: this server counts limits by itself until it is back'),
    onBack: () => logger.info('Redis is back: it counts the limits of all servers again'),
  });

  /** Brings Redis up to date, and takes it up. What is counted meanwhile comes last, before any request. */
  async function takeOver(connection: RedisConnection, takeUp: () => void): Promise<void> {
    await states.probe(connection);
    await mergeAll(connection, shadow.toMerge('all'));
    for (let round = 0; round < ROUNDS; round += 1) {
      const changed = shadow.toMerge('unmerged');
      if (changed.length <= BATCH) break;
      await mergeAll(connection, changed);
    }
    // From here to `takeUp` nothing waits: no request comes between, and Redis keeps the order.
    const last = shadow.toMerge('unmerged').map((account) => merge(connection, account));
    const bans = shadow.bans().map((ban) => states.ban(connection, ban.subject, ban.key, ban.untilMs, shadow.latestMs));
    takeUp();
    await Promise.all([...last, ...bans]);
  }

  async function mergeAll(connection: RedisConnection, accounts: readonly AccountDay[]): Promise<void> {
    for (let start = 0; start < accounts.length; start += BATCH) {
      await Promise.all(accounts.slice(start, start + BATCH).map((account) => merge(connection, account)));
    }
  }

  async function merge(connection: RedisConnection, account: AccountDay): Promise<void> {
    const unmerged: Unmerged = shadow.merge(account);
    try {
      shadow.merged(unmerged, await states.merge(connection, unmerged.request));
    } catch (error) {
      shadow.notMerged(unmerged);
      throw error;
    }
  }

  /** Brings accounts to Redis, or loses it: then they come with all others when it is back. */
  async function mergeOrLose(connection: RedisConnection, accounts: readonly AccountDay[]): Promise<void> {
    await mergeAll(connection, accounts).catch((error: unknown) => connection.lose(error));
  }

  async function ask<T>(connection: RedisConnection, question: Promise<T>): Promise<T | undefined> {
    try {
      return await question;
    } catch (error) {
      connection.lose(error);
      return undefined;
    }
  }

  async function admitAddress(connection: RedisConnection, attempt: Attempt): Promise<Decision> {
    const subject = addresses.nameFor(attempt.subject, attempt.nowMs);
    const state = await ask(connection, states.admit(connection, { ...attempt, subject }, addressQuota, 0));
    if (state === undefined) return shadow.admit(attempt);
    return verdict(state.status === 'passed', state.counter, addressQuota, Math.max(attempt.nowMs, state.nowMs));
  }

  async function admitAccount(connection: RedisConnection, attempt: AccountAttempt): Promise<Decision> {
    const { quota, key, nowMs } = attempt;
    const state = await ask(connection, states.admit(connection, attempt, quota, shadow.bannedUntil(key, nowMs)));
    if (state === undefined) return shadow.admit(attempt);
    hear(connection, attempt, state);
    const judgedMs = Math.max(nowMs, state.nowMs);
    if (state.status !== 'banned') return verdict(state.status === 'passed', state.counter, quota, judgedMs);
    return banned(peek(state.counter, quota, judgedMs), state.bannedUntilMs ?? judgedMs, judgedMs);
  }

  function hear(connection: RedisConnection, { subject, key }: AccountAttempt, state: RedisState): void {
    const { bannedUntilMs: untilMs, status } = state;
    const forgotten = shadow.hear(subject, state);
    if (forgotten !== undefined) void mergeOrLose(connection, [forgotten]);
    if (untilMs !== undefined) shadow.hearBan({ subject, key, untilMs }, status === 'refused');
  }

  await link.start();
  return {
    admit(attempt) {
      const { connection } = link;
      if (connection === undefined) return shadow.admit(attempt);
      const timed = { ...attempt, nowMs: shadow.advance(attempt.nowMs) };
      return timed.kind === 'account' ? admitAccount(connection, timed) : admitAddress(connection, timed);
    },
    async peek(attempt) {
      const { connection } = link;
      const timed = { ...attempt, nowMs: shadow.advance(attempt.nowMs) };
      const state = connection && (await ask(connection, states.peek(connection, timed)));
      if (state === undefined) return shadow.peek(attempt);
      const quota = timed.kind === 'account' ? timed.quota : addressQuota;
      return peek(state.counter, quota, Math.max(timed.nowMs, state.nowMs));
    },
    drainUsage: () => shadow.drainUsage(),
    async restoreUsage(rows) {
      const restored = shadow.restoreUsage(rows);
      if (link.connection !== undefined) await mergeOrLose(link.connection, restored);
    },
    restoreBans: (bans) => shadow.restoreBans(bans),
    get isAway() {
      return link.connection === undefined;
    },
    close: () => link.close(),
  };
}

/** The addresses seen this minute: anybody can invent some, and Redis's memory is not theirs to fill. */
class ToldApart {
  readonly #max: number;
  readonly #names = new Set<string>();
  #minuteIndex = Number.NEGATIVE_INFINITY;

  constructor(max: number) {
    this.#max = max;
  }

  /** The address itself, or the name that all have who come too late. */
  nameFor(address: string, nowMs: number): string {
    const minuteIndex = minuteIndexAt(nowMs);
    if (minuteIndex > this.#minuteIndex) this.#names.clear();
    this.#minuteIndex = Math.max(minuteIndex, this.#minuteIndex);
    if (this.#names.has(address)) return address;
    if (this.#names.size >= this.#max) return OTHERS;
    this.#names.add(address);
    return address;
  }
}
