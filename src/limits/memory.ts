/**
 * The limits of one process, in memory.
 *
 * Algorithm: fixed windows (`windows.ts`) and a sliding count of refusals (`ban-tracker.ts`). A decision is
 * synchronous, so that no other request can come between its reading and its counting: that makes it exact. A request
 * of a known subject costs three look-ups at most and allocates only its decision.
 *
 * Memory: fixed windows end for all at once, so nothing has to be swept. All addresses are dropped when a minute
 * begins, all accounts when a day begins. The operator decides how many accounts there are; the number of addresses is
 * bounded (`address-counters.ts`). A flood of addresses can turn the 401 of a new address into a 429, but grants no
 * address more requests than its quota and does not affect callers with a valid key.
 *
 * Failure: nothing here can fail. For a crash, the owner stores the day's counts (`drainUsage`, twice a second) and the
 * bans (`onBan`), and restores them at the start. The minute's counts start from zero. When the clock steps back by up
 * to a minute, the time stands still here until the clock has caught up, so that no dropped counter starts anew. A
 * larger step back means that the clock was wrong before: the minute begins anew, and the day continues with its
 * counts.
 */
import type { AccountId, BanPolicy, DayUsage, KeyId, Quota } from '../model.ts';
import { AccountCounters } from './account-counters.ts';
import { AddressCounters } from './address-counters.ts';
import { BanTracker, toBanned } from './ban-tracker.ts';
import type { AccountAttempt, Attempt, Counts, Decision, ManagedLimiter, NewBan } from './limiter.ts';
import { counterAt, countRequest, dayStartMs, ignoreBackwardStep, peek, type Verdict } from './windows.ts';

export interface MemoryLimiterOptions {
  readonly ban: BanPolicy;
  readonly addresses: {
    readonly perMinute: number;
    /** How many addresses have counters of their own in one minute, about 200 bytes each. */
    readonly maxTracked: number;
  };
  /** Called when a ban begins, to store it. Called from within `admit`: it must neither wait nor throw. */
  readonly onBan?: (ban: NewBan, accountId: AccountId) => void;
}

export interface MemoryLimiter extends ManagedLimiter {
  admit(attempt: Attempt): Decision;
  peek(attempt: Attempt): Verdict;
  counts(accountId: AccountId, nowMs: number): Counts;
  unban(accountId: AccountId, keyId: KeyId, nowMs: number): number;
  restoreUsage(rows: Iterable<DayUsage>): void;
  /** How much is in memory. */
  readonly tracked: { readonly accounts: number; readonly addresses: number; readonly keys: number };
}

/** A caller that passes `accounts` and `bans` may read and change them later. */
export function createMemoryLimiter(
  options: MemoryLimiterOptions,
  accounts = new AccountCounters(),
  bans = new BanTracker(options.ban),
): MemoryLimiter {
  const { onBan, ban } = options;
  const addresses = new AddressCounters(options.addresses.maxTracked);
  const addressQuota: Quota = { perMinute: options.addresses.perMinute, perDay: Number.POSITIVE_INFINITY };
  let latestMs = Number.NEGATIVE_INFINITY;

  /** Returns the time to use. */
  function advance(nowMs: number): number {
    latestMs = ignoreBackwardStep(latestMs, nowMs);
    return latestMs;
  }

  function admitAccount({ accountId, keyId, quota }: AccountAttempt, nowMs: number): Decision {
    const account = accounts.getOrAdd(accountId, nowMs);
    accounts.markChanged(account);
    accounts.recordKeyUse(keyId, nowMs);
    const bannedUntilMs = bans.bannedUntil(keyId, nowMs);
    if (bannedUntilMs !== undefined) {
      account.refused += 1;
      return toBanned(peek(account.counter, quota, nowMs), bannedUntilMs, nowMs);
    }
    const verdict = countRequest(account.counter, quota, nowMs);
    if (!verdict.allowed) {
      account.refused += 1;
      const untilMs = bans.recordRefusal(keyId, nowMs);
      if (untilMs !== undefined) {
        onBan?.({ keyId, untilMs, sinceMs: nowMs, refusals: ban.refusals, window: verdict.window }, accountId);
        return { ...verdict, beginsBan: true };
      }
    }
    return verdict;
  }

  return {
    admit(attempt) {
      const nowMs = advance(attempt.nowMs);
      if (attempt.kind === 'account') return admitAccount(attempt, nowMs);
      return countRequest(addresses.getOrAdd(attempt.address, nowMs), addressQuota, nowMs);
    },
    peek(attempt) {
      const nowMs = advance(attempt.nowMs);
      if (attempt.kind === 'account') return peek(accounts.counterOf(attempt.accountId, nowMs), attempt.quota, nowMs);
      return peek(addresses.counterOf(attempt.address, nowMs), addressQuota, nowMs);
    },
    counts(accountId, readMs) {
      const nowMs = advance(readMs);
      const refused = accounts.ofDay(nowMs).get(accountId)?.refused ?? 0;
      return { counter: counterAt(accounts.counterOf(accountId, nowMs), nowMs), refused, isLocal: false };
    },
    unban(_accountId, keyId, readMs) {
      const nowMs = advance(readMs);
      const untilMs = Math.max(nowMs + ban.durationMs, bans.bannedUntil(keyId, nowMs) ?? 0);
      bans.forget(keyId, untilMs);
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
      for (const { keyId, untilMs } of restored) bans.restore(keyId, untilMs);
    },
    forgetBan: ({ keyId, untilMs }) => bans.forget(keyId, untilMs),
    close: async () => undefined,
    get tracked() {
      return { accounts: accounts.size, addresses: addresses.size, keys: bans.size };
    },
  };
}
