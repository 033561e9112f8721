/**
 * The limits of one process, in memory.
 *
 * Algorithm: fixed windows (`windows.ts`) and a sliding count of refusals (`bans.ts`). A decision is synchronous, so
 * concurrent requests can't come between its reading and its counting: that makes it exact. A request of a known
 * subject costs three look-ups at most and allocates its decision only.
 *
 * Memory: fixed windows end for everybody at once, so nothing is swept: all addresses are forgotten when a minute
 * begins, all accounts when a day begins. Accounts are as many as the operator has made. Addresses are anybody's to
 * invent, so at most `maxTracked` are told apart in a minute; those that come after share one counter until it ends.
 * A flood can thus turn a newcomer's 401 into a 429, but buys no address a request more than its quota and touches
 * nobody with a valid key.
 *
 * Failure: nothing here can fail. What a crash would lose, the owner saves: the day's counts by `drainUsage` (every
 * second), bans by `onBan`; and brings back at the start. The minute's counts start from zero. When the clock goes
 * backwards, time stands still here until it has caught up, so that nothing forgotten can be had a second time.
 */
import { type BanPolicy, BanTracker } from './bans.ts';
import type { AccountAttempt, Attempt, Decision, Limiter } from './limiter.ts';
import {
  type Counter,
  dayIndexAt,
  dayStartMs,
  minuteIndexAt,
  openCounter,
  peek,
  type Quota,
  secondsUntil,
  take,
  type Verdict,
} from './windows.ts';

export interface MemoryLimiterOptions {
  readonly ban: BanPolicy;
  readonly addresses: {
    readonly perMinute: number;
    /** How many addresses are told apart in one minute, about 200 bytes each. */
    readonly maxTracked: number;
  };
  /** Told of each ban as it begins, to store it. Called from within `admit`: it should neither wait nor throw. */
  readonly onBan?: (ban: Ban) => void;
}

export interface Ban {
  /** The id of the key. */
  readonly key: string;
  readonly untilMs: number;
}

/** What an account has used of a day, in totals: writing a row twice is the same as once, and the later row wins. */
export interface UsageRow {
  readonly subject: string;
  /** Days since 1970-01-01, UTC. */
  readonly dayIndex: number;
  /** Requests that were admitted, and so counted. */
  readonly requests: number;
  /** Requests that were refused, by a window or by a ban. */
  readonly refused: number;
}

export interface MemoryLimiter extends Limiter {
  admit(attempt: Attempt): Decision;
  peek(attempt: Attempt): Verdict;
  /**
   * The accounts' days that changed since the last call. They are held until they are drained, so somebody has to.
   * Rows whose writing fails are the caller's to write again, before later ones.
   */
  drainUsage(): UsageRow[];
  /**
   * Takes up the day's counts: to be called before the first request, with the rows of the current day. Those of
   * earlier days are ignored; one of a later day says that the clock has gone backwards.
   */
  restoreUsage(rows: Iterable<UsageRow>): void;
  /** Takes up bans; those already over do no harm. */
  restoreBans(bans: Iterable<Ban>): void;
  /** How much is held at the moment. */
  readonly tracked: { readonly accounts: number; readonly addresses: number; readonly keys: number };
}

export function createMemoryLimiter(options: MemoryLimiterOptions): MemoryLimiter {
  const { onBan } = options;
  const accounts = new Accounts();
  const addresses = new Addresses(options.addresses.maxTracked);
  const addressQuota: Quota = { perMinute: options.addresses.perMinute, perDay: Number.POSITIVE_INFINITY };
  const bans = new BanTracker(options.ban);
  let latestMs = Number.NEGATIVE_INFINITY;

  /** The time to judge by, which never goes backwards. */
  function advance(nowMs: number): number {
    latestMs = Math.max(latestMs, nowMs);
    return latestMs;
  }

  function admitAccount({ subject, key, quota }: AccountAttempt, nowMs: number): Decision {
    const account = accounts.open(subject, nowMs);
    accounts.markChanged(account);
    const bannedUntilMs = bans.bannedUntil(key, nowMs);
    if (bannedUntilMs !== undefined) {
      account.refused += 1;
      const { window, limit, remaining, resetAtSeconds } = peek(account.counter, quota, nowMs);
      const retryAfterSeconds = secondsUntil(bannedUntilMs, nowMs);
      return { allowed: false, bannedUntilMs, window, limit, remaining, resetAtSeconds, retryAfterSeconds };
    }
    const verdict = take(account.counter, quota, nowMs);
    if (!verdict.allowed) {
      account.refused += 1;
      const untilMs = bans.refused(key, nowMs);
      if (untilMs !== undefined) onBan?.({ key, untilMs });
    }
    return verdict;
  }

  return {
    admit(attempt) {
      const nowMs = advance(attempt.nowMs);
      if (attempt.kind === 'account') return admitAccount(attempt, nowMs);
      return take(addresses.open(attempt.subject, nowMs), addressQuota, nowMs);
    },
    peek(attempt) {
      const nowMs = advance(attempt.nowMs);
      if (attempt.kind === 'account') return peek(accounts.read(attempt.subject, nowMs), attempt.quota, nowMs);
      return peek(addresses.read(attempt.subject, nowMs), addressQuota, nowMs);
    },
    drainUsage: () => accounts.drain(),
    restoreUsage(rows) {
      for (const row of rows) accounts.restore(row, advance(dayStartMs(row.dayIndex)));
    },
    restoreBans(restored) {
      for (const { key, untilMs } of restored) bans.restore(key, untilMs);
    },
    get tracked() {
      return { accounts: accounts.size, addresses: addresses.size, keys: bans.size };
    },
  };
}

/** An account in one day. */
interface AccountDay {
  readonly subject: string;
  readonly counter: Counter;
  refused: number;
  /** Changed since the last drain. */
  isChanged: boolean;
}

/** The accounts seen today, and those whose totals wait to be drained: the last of yesterday may be among them. */
class Accounts {
  #dayIndex = Number.NEGATIVE_INFINITY;
  #today = new Map<string, AccountDay>();
  #changed: AccountDay[] = [];

  get size(): number {
    return this.#today.size;
  }

  open(subject: string, nowMs: number): AccountDay {
    this.#enterDay(dayIndexAt(nowMs));
    return this.#today.get(subject) ?? this.#add(subject, nowMs);
  }

  /** The account's counter, or a passing one that is not kept: reading leaves no trace. */
  read(subject: string, nowMs: number): Counter {
    this.#enterDay(dayIndexAt(nowMs));
    return this.#today.get(subject)?.counter ?? openCounter(nowMs);
  }

  markChanged(account: AccountDay): void {
    if (account.isChanged) return;
    account.isChanged = true;
    this.#changed.push(account);
  }

  drain(): UsageRow[] {
    const changed = this.#changed;
    this.#changed = [];
    return changed.map((account) => {
      account.isChanged = false;
      const { subject, counter, refused } = account;
      return { subject, dayIndex: counter.dayIndex, requests: counter.dayCount, refused };
    });
  }

  /** Takes up a day's totals, unless that day is over. */
  restore({ subject, dayIndex, requests, refused }: UsageRow, nowMs: number): void {
    if (dayIndex !== dayIndexAt(nowMs)) return;
    const account = this.open(subject, nowMs);
    account.counter.dayCount = requests;
    account.refused = refused;
  }

  #add(subject: string, nowMs: number): AccountDay {
    const account = { subject, counter: openCounter(nowMs), refused: 0, isChanged: false };
    this.#today.set(subject, account);
    return account;
  }

  #enterDay(dayIndex: number): void {
    if (dayIndex <= this.#dayIndex) return;
    this.#dayIndex = dayIndex;
    this.#today = new Map();
  }
}

/** The addresses seen this minute. */
class Addresses {
  readonly #maxTracked: number;
  #minuteIndex = Number.NEGATIVE_INFINITY;
  #counters = new Map<string, Counter>();
  /** For all addresses that come when `#maxTracked` are known. */
  #shared: Counter = openCounter(0);

  constructor(maxTracked: number) {
    this.#maxTracked = maxTracked;
  }

  get size(): number {
    return this.#counters.size;
  }

  open(subject: string, nowMs: number): Counter {
    const known = this.#find(subject, nowMs);
    if (known !== undefined) return known;
    const counter = openCounter(nowMs);
    this.#counters.set(subject, counter);
    return counter;
  }

  /** The address's counter, or a passing one that is not kept: reading leaves no trace. */
  read(subject: string, nowMs: number): Counter {
    return this.#find(subject, nowMs) ?? openCounter(nowMs);
  }

  /** The counter that an address has, if only as one of many: undefined when it is to have its own. */
  #find(subject: string, nowMs: number): Counter | undefined {
    this.#enterMinute(minuteIndexAt(nowMs));
    return this.#counters.get(subject) ?? (this.#counters.size < this.#maxTracked ? undefined : this.#shared);
  }

  #enterMinute(minuteIndex: number): void {
    if (minuteIndex <= this.#minuteIndex) return;
    this.#minuteIndex = minuteIndex;
    this.#counters = new Map();
  }
}
