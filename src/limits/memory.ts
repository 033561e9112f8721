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
 * back by up to a minute, time stands still here until it has caught up, so that nothing forgotten can be had a second
 * time. When it goes back by more it was wrong before: its minute begins anew, and its day goes on where it was left.
 */
import type { BanPolicy, Quota } from '../model.ts';
import { AccountCounters } from './account-counters.ts';
import { BanTracker, banned } from './ban-tracker.ts';
import type { AccountAttempt, Attempt, Counts, Decision, ManagedLimiter, NewBan, UsageRow } from './limiter.ts';
import {
  type Counter,
  counterAt,
  countRequest,
  dayStartMs,
  ignoreBackwardStep,
  minuteIndexAt,
  newCounter,
  peek,
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
  readonly onBan?: (ban: NewBan, subject: string) => void;
}

export interface MemoryLimiter extends ManagedLimiter {
  admit(attempt: Attempt): Decision;
  peek(attempt: Attempt): Verdict;
  counts(subject: string, nowMs: number): Counts;
  unban(subject: string, key: string, nowMs: number): number;
  restoreUsage(rows: Iterable<UsageRow>): void;
  /** How much is held at the moment. */
  readonly tracked: { readonly accounts: number; readonly addresses: number; readonly keys: number };
}

/** Whoever brings `accounts` and `bans` may look into them and change them. */
export function createMemoryLimiter(
  options: MemoryLimiterOptions,
  accounts = new AccountCounters(),
  bans = new BanTracker(options.ban),
): MemoryLimiter {
  const { onBan, ban } = options;
  const addresses = new AddressCounters(options.addresses.maxTracked);
  const addressQuota: Quota = { perMinute: options.addresses.perMinute, perDay: Number.POSITIVE_INFINITY };
  let latestMs = Number.NEGATIVE_INFINITY;

  /** The time to judge by. */
  function advance(nowMs: number): number {
    latestMs = ignoreBackwardStep(latestMs, nowMs);
    return latestMs;
  }

  function admitAccount({ subject, key, quota }: AccountAttempt, nowMs: number): Decision {
    const account = accounts.open(subject, nowMs);
    accounts.markChanged(account);
    accounts.noteUse(key, nowMs);
    const bannedUntilMs = bans.bannedUntil(key, nowMs);
    if (bannedUntilMs !== undefined) {
      account.refused += 1;
      return banned(peek(account.counter, quota, nowMs), bannedUntilMs, nowMs);
    }
    const verdict = countRequest(account.counter, quota, nowMs);
    if (!verdict.allowed) {
      account.refused += 1;
      const untilMs = bans.refused(key, nowMs);
      if (untilMs !== undefined) {
        onBan?.({ key, untilMs, sinceMs: nowMs, refusals: ban.refusals, window: verdict.window }, subject);
        return { ...verdict, beginsBan: true };
      }
    }
    return verdict;
  }

  return {
    admit(attempt) {
      const nowMs = advance(attempt.nowMs);
      if (attempt.kind === 'account') return admitAccount(attempt, nowMs);
      return countRequest(addresses.open(attempt.subject, nowMs), addressQuota, nowMs);
    },
    peek(attempt) {
      const nowMs = advance(attempt.nowMs);
      if (attempt.kind === 'account') return peek(accounts.read(attempt.subject, nowMs), attempt.quota, nowMs);
      return peek(addresses.read(attempt.subject, nowMs), addressQuota, nowMs);
    },
    counts(subject, readMs) {
      const nowMs = advance(readMs);
      const refused = accounts.today(nowMs).get(subject)?.refused ?? 0;
      return { counter: counterAt(accounts.read(subject, nowMs), nowMs), refused, isLocal: false };
    },
    unban(_subject, key, readMs) {
      const nowMs = advance(readMs);
      const untilMs = Math.max(nowMs + ban.durationMs, bans.bannedUntil(key, nowMs) ?? 0);
      bans.forget(key, untilMs);
      return untilMs;
    },
    drainUsage: () => accounts.drain(),
    drainKeyUses: () => accounts.drainKeyUses(),
    restoreUsage(rows) {
      for (const row of rows) {
        latestMs = Math.max(latestMs, dayStartMs(row.dayIndex));
        accounts.restore(row, latestMs);
      }
    },
    restoreBans(restored) {
      for (const { key, untilMs } of restored) bans.restore(key, untilMs);
    },
    forgetBan: ({ key, untilMs }) => bans.forget(key, untilMs),
    close: async () => undefined,
    get tracked() {
      return { accounts: accounts.size, addresses: addresses.size, keys: bans.size };
    },
  };
}

/** The addresses seen this minute. */
export class AddressCounters {
  readonly #maxTracked: number;
  #minuteIndex = Number.NEGATIVE_INFINITY;
  #counters = new Map<string, Counter>();
  /** For all addresses that come when `#maxTracked` are known. */
  #shared: Counter = newCounter(0);

  constructor(maxTracked: number) {
    this.#maxTracked = maxTracked;
  }

  get size(): number {
    return this.#counters.size;
  }

  open(subject: string, nowMs: number): Counter {
    const known = this.#find(subject, nowMs);
    if (known !== undefined) return known;
    const counter = newCounter(nowMs);
    this.#counters.set(subject, counter);
    return counter;
  }

  /** Whether the address, or prefix, shares a counter with all that came too late. */
  isShared(subject: string, nowMs: number): boolean {
    return this.open(subject, nowMs) === this.#shared;
  }

  /** The address's counter, or a passing one that is not kept: reading leaves no trace. */
  read(subject: string, nowMs: number): Counter {
    return this.#find(subject, nowMs) ?? newCounter(nowMs);
  }

  /** The counter that an address has, if only as one of many: undefined when it is to have its own. */
  #find(subject: string, nowMs: number): Counter | undefined {
    this.#enterMinute(minuteIndexAt(nowMs));
    return this.#counters.get(subject) ?? (this.#counters.size < this.#maxTracked ? undefined : this.#shared);
  }

  #enterMinute(minuteIndex: number): void {
    if (minuteIndex === this.#minuteIndex) return;
    this.#minuteIndex = minuteIndex;
    this.#counters = new Map();
  }
}
