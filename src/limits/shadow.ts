/**
 * What this server knows of the limits' state in Redis, kept at hand in memory for when Redis is away.
 *
 * Every answer of Redis is written down here: an account's counts, the end of a ban. When Redis does not answer, the
 * memory engine goes on from there. Of each account it is known what Redis last said (`heard`); what the counts are above
 * that, this server has counted by itself, and Redis is to have it when it is back (`unmerged`, `merged`).
 */
import { type AccountDay, Accounts } from './accounts.ts';
import { BanTracker } from './bans.ts';
import type { Attempt, Ban, Decision, LimitsEngine, UsageRow } from './limiter.ts';
import { createMemoryLimiter, type MemoryLimiter, type MemoryLimiterOptions } from './memory.ts';
import type { MergeRequest, RedisState } from './redis-state.ts';
import { dayStartMs, type Verdict } from './windows.ts';

/** A ban, and the account that its key is of. */
export interface AccountBan extends Ban {
  readonly subject: string;
}

/** An account's counts on their way to Redis. */
export interface Unmerged {
  readonly account: AccountDay;
  readonly request: MergeRequest;
}

export class Shadow implements Pick<LimitsEngine, 'drainUsage' | 'restoreBans'> {
  readonly #accounts = new Accounts();
  readonly #tracker: BanTracker;
  readonly #memory: MemoryLimiter;
  readonly #onBan: (ban: Ban) => void;
  /** Bans in force, by key. They began in the order of the map, and so nearly end. */
  readonly #bans = new Map<string, AccountBan>();
  readonly #merging = new Set<AccountDay>();
  #latestMs = Number.NEGATIVE_INFINITY;
  /** Whose attempt the memory engine judges at the moment. */
  #subject = '';

  constructor(options: MemoryLimiterOptions) {
    this.#onBan = options.onBan ?? (() => undefined);
    this.#tracker = new BanTracker(options.ban);
    const onBan = (ban: Ban) => {
      this.#remember({ ...ban, subject: this.#subject });
      this.#onBan(ban);
    };
    this.#memory = createMemoryLimiter({ ...options, onBan }, this.#accounts, this.#tracker);
  }

  /** The latest time that it was told of. */
  get latestMs(): number {
    return this.#latestMs;
  }

  /** The time to judge by, which never goes backwards. */
  advance(nowMs: number): number {
    this.#latestMs = Math.max(this.#latestMs, nowMs);
    return this.#latestMs;
  }

  admit(attempt: Attempt): Decision {
    this.#subject = attempt.subject;
    return this.#memory.admit({ ...attempt, nowMs: this.advance(attempt.nowMs) });
  }

  peek(attempt: Attempt): Verdict {
    return this.#memory.peek({ ...attempt, nowMs: this.advance(attempt.nowMs) });
  }

  drainUsage(): UsageRow[] {
    return this.#memory.drainUsage();
  }

  /** Takes up totals that were stored. Gives the accounts of the current day among them: Redis is to know of them too. */
  restoreUsage(rows: Iterable<UsageRow>): AccountDay[] {
    const restored: AccountDay[] = [];
    for (const row of rows) {
      const account = this.#accounts.restore(row, this.advance(dayStartMs(row.dayIndex)));
      if (account === undefined) continue;
      const { minuteIndex, dayCount } = account.counter;
      account.heard = { life: '', minuteIndex, minuteCount: 0, dayCount, refused: account.refused };
      restored.push(account);
    }
    return restored;
  }

  restoreBans(bans: Iterable<Ban>): void {
    this.#memory.restoreBans(bans);
  }

  /** The end of the key's ban, 0 if it has none. */
  bannedUntil(key: string, nowMs: number): number {
    return this.#tracker.bannedUntil(key, nowMs) ?? 0;
  }

  /** Writes down a ban that Redis told of; `isNew`: this refusal began it. */
  hearBan(ban: AccountBan, isNew: boolean): void {
    this.#tracker.restore(ban.key, ban.untilMs);
    this.#remember(ban);
    if (isNew) this.#onBan({ key: ban.key, untilMs: ban.untilMs });
  }

  /**
   * Writes down what Redis said of an account. Returns the account when Redis must have lost what it had counted: its
   * counts are of another life.
   */
  hear(subject: string, state: RedisState): AccountDay | undefined {
    const { counter, refused, life } = state;
    const account = this.#accounts.open(subject, this.advance(state.nowMs));
    if (counter.dayIndex < account.counter.dayIndex) {
      this.#accounts.markLate({ subject, counter, refused }); // midnight has come meanwhile
      return undefined;
    }
    this.#accounts.markChanged(account);
    const isForeign = account.heard !== undefined && account.heard.life !== life;
    if (!isForeign) settle(account, state);
    return isForeign && !this.#merging.has(account) ? account : undefined;
  }

  /** The accounts of which Redis should hear: all of today, or those whose counts it has only in part. */
  toMerge(which: 'all' | 'unmerged'): AccountDay[] {
    const today = this.#accounts.today(this.#latestMs);
    return which === 'all' ? today : today.filter(isUnmerged);
  }

  /** Begins to bring an account's counts to Redis; `merged` or `notMerged` ends it. */
  merge(account: AccountDay): Unmerged {
    this.#merging.add(account);
    const { subject, counter } = account;
    const { life, minuteIndex, minuteCount, dayCount, refused } = account.heard ?? nothingHeard(account);
    const minuteHeard = minuteIndex === counter.minuteIndex ? minuteCount : 0;
    const request = {
      subject,
      nowMs: this.#latestMs,
      life,
      minuteIndex: counter.minuteIndex,
      minute: { heard: minuteHeard, since: counter.minuteCount - minuteHeard },
      dayIndex: counter.dayIndex,
      day: { heard: dayCount, since: counter.dayCount - dayCount },
      refused: { heard: refused, since: account.refused - refused },
    };
    return { account, request };
  }

  merged({ account, request }: Unmerged, state: RedisState): void {
    this.#merging.delete(account);
    if (state.counter.dayIndex !== account.counter.dayIndex) return;
    const { dayCount } = account.counter;
    const { refused } = account;
    settle(account, state, request);
    if (account.counter.dayCount !== dayCount || account.refused !== refused) this.#accounts.markChanged(account);
  }

  notMerged({ account }: Unmerged): void {
    this.#merging.delete(account);
  }

  /** The bans in force of which the account is known. */
  bans(): AccountBan[] {
    return [...this.#bans.values()].filter(({ untilMs }) => this.#latestMs < untilMs);
  }

  /** Bans that are over make room. */
  #remember(ban: AccountBan): void {
    for (const [key, { untilMs }] of this.#bans) {
      if (this.#latestMs < untilMs) break;
      this.#bans.delete(key);
    }
    this.#bans.delete(ban.key);
    this.#bans.set(ban.key, ban);
  }
}

function nothingHeard({ counter: { minuteIndex } }: AccountDay) {
  return { life: '', minuteIndex, minuteCount: 0, dayCount: 0, refused: 0 };
}

function isUnmerged(account: AccountDay): boolean {
  const { counter, refused, heard = nothingHeard(account) } = account;
  return counter.dayCount !== heard.dayCount || refused !== heard.refused;
}

/**
 * Takes Redis's counts for an account's own, and keeps what this server has counted by itself, apart from what was
 * `merged` with this state. Answers may overtake each other: within a life, the greater counts are the later ones.
 */
function settle(account: AccountDay, state: RedisState, merged?: MergeRequest): void {
  const { counter } = account;
  const before = account.heard ?? nothingHeard(account);
  const hasSameLife = before.life === state.life;
  const dayHeard = hasSameLife ? Math.max(before.dayCount, state.counter.dayCount) : state.counter.dayCount;
  const refusedHeard = hasSameLife ? Math.max(before.refused, state.refused) : state.refused;
  counter.dayCount += dayHeard - before.dayCount - (merged?.day.since ?? 0);
  account.refused += refusedHeard - before.refused - (merged?.refused.since ?? 0);

  const { minuteIndex } = state.counter;
  const minuteBefore = before.minuteIndex === minuteIndex ? before.minuteCount : 0;
  const minuteHeard = hasSameLife ? Math.max(minuteBefore, state.counter.minuteCount) : state.counter.minuteCount;
  if (counter.minuteIndex < minuteIndex) {
    counter.minuteIndex = minuteIndex;
    counter.minuteCount = minuteHeard;
  } else if (counter.minuteIndex === minuteIndex) {
    const minuteMerged = merged?.minuteIndex === minuteIndex ? merged.minute.since : 0;
    counter.minuteCount += minuteHeard - minuteBefore - minuteMerged;
  }
  account.heard = {
    life: state.life,
    minuteIndex: Math.max(before.minuteIndex, minuteIndex),
    minuteCount: before.minuteIndex > minuteIndex ? before.minuteCount : minuteHeard,
    dayCount: dayHeard,
    refused: refusedHeard,
  };
}
