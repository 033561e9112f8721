/**
 * The limits of one process, in memory.
 *
 * Algorithm: fixed windows (`windows.ts`) and a sliding count of refusals (`ban-tracker.ts`). A decision is
 * synchronous, so that no other request can come between its reading and its counting: that makes it exact. A request
 * of a known account costs a few look-ups and allocates only its decision.
 *
 * Memory: fixed windows end for all at once, so nothing has to be swept. All addresses are dropped when a minute
 * begins, all accounts two days later. The operator decides how many accounts there are; the number of addresses is
 * bounded (`address-counters.ts`). A flood of addresses can turn the 401 of a new address into a 429, but grants no
 * address more requests than its quota and does not affect callers with a valid key.
 *
 * Failure: nothing here can fail. For a crash, the owner stores the day's counts (`drain`, twice a second) and the
 * bans (`onBan`), and restores them at the start. The minute's counts start from zero.
 */
import type { AccountId, KeyId, Quota } from '../../rpc/caller.ts';
import type { Ban, BanPolicy } from '../tables/model.ts';
import { AccountCounters } from './account-counters.ts';
import { AddressCounters } from './address-counters.ts';
import { BanTracker, newBan, toBanned } from './ban-tracker.ts';
import type { Attempt, Counts, Decision, ManagedLimiter, Subject } from './limiter.ts';
import { type Counter, countRequest, enterWindows, peek, type Verdict } from './windows.ts';

export interface MemoryLimiterOptions {
  readonly ban: BanPolicy;
  readonly addresses: {
    readonly perMinute: number;
    /** How many addresses have counters of their own in one minute, about 200 bytes each. */
    readonly maxTracked: number;
  };
  /** Called when a ban begins, to store it. Called from within `admit`: it must neither wait nor throw. */
  readonly onBan?: (ban: Ban) => void;
}

/** What a server knows when it asks Redis. */
export interface Known {
  /** The subject that the request counts under: addresses may share one. */
  readonly subject: Subject;
  readonly counter: Readonly<Counter>;
  /** The end of the key's last ban; 0 without a key or a ban. */
  readonly lastBanEndMs: number;
}

/** What Redis knows after a request: the counts of the subject, and the end of the key's ban or 0. */
export interface Learned {
  readonly counter: Counter;
  readonly bannedUntilMs: number;
  readonly nowMs: number;
}

export interface MemoryLimiter extends ManagedLimiter {
  admit(attempt: Attempt): Decision;
  peek(attempt: Attempt): Verdict;
  counts(accountId: AccountId, nowMs: number): Counts;
  unban(accountId: AccountId, keyId: KeyId, nowMs: number): number;
  /** Returns a copy of what is known. */
  known(subject: Subject & { readonly keyId?: KeyId }, nowMs: number): Known;
  /** Replaces what is known of the subject and the key. */
  learn(attempt: Attempt, learned: Learned): void;
}

/** Returns the quota of an account, or that of every address. */
export function quotaOf(attempt: Attempt, { addresses }: Pick<MemoryLimiterOptions, 'addresses'>): Quota {
  return attempt.kind === 'account'
    ? attempt.quota
    : { perMinute: addresses.perMinute, perDay: Number.POSITIVE_INFINITY };
}

export function createMemoryLimiter(options: MemoryLimiterOptions): MemoryLimiter {
  const { onBan, ban } = options;
  const accounts = new AccountCounters();
  const bans = new BanTracker(ban);
  const addresses = new AddressCounters(options.addresses.maxTracked);

  /** The minute of addresses is that of this server, also when Redis's time counts. */
  const change = (attempt: Attempt, nowMs: number): Counter =>
    attempt.kind === 'account'
      ? accounts.change(attempt.accountId, attempt.keyId, nowMs)
      : addresses.change(attempt.address, attempt.nowMs);

  return {
    admit(attempt) {
      const { nowMs } = attempt;
      const counter = change(attempt, nowMs);
      const quota = quotaOf(attempt, options);
      if (attempt.kind === 'address') return countRequest(counter, quota, nowMs);
      const { keyId } = attempt;
      const bannedUntilMs = bans.bannedUntil(keyId, nowMs);
      if (bannedUntilMs !== undefined) {
        counter.refused += 1;
        return toBanned(peek(counter, quota, nowMs), bannedUntilMs, nowMs);
      }
      const verdict = countRequest(counter, quota, nowMs);
      if (verdict.allowed) return verdict;
      counter.refused += 1;
      if (bans.recordRefusal(keyId, nowMs) === undefined) return verdict;
      onBan?.(newBan(keyId, ban, nowMs, verdict));
      return { ...verdict, beginsBan: true };
    },
    peek(attempt) {
      const { nowMs } = attempt;
      const counter =
        attempt.kind === 'account' ? accounts.find(attempt.accountId, nowMs) : addresses.find(attempt.address, nowMs);
      return peek(counter, quotaOf(attempt, options), nowMs);
    },
    now: Date.now,
    counts(accountId, nowMs) {
      const counter = accounts.find(accountId, nowMs);
      enterWindows(counter, nowMs);
      return { counter: { ...counter }, isLocal: false };
    },
    unban(_accountId, keyId, nowMs) {
      bans.forget(keyId);
      return nowMs + ban.durationMs;
    },
    known(subject, nowMs) {
      if (subject.kind === 'address') {
        const counter = { ...addresses.change(subject.address, nowMs) }; // kept, so that many at once are bounded
        const address = addresses.nameOf(subject.address, nowMs);
        return { subject: { kind: 'address', address }, counter, lastBanEndMs: 0 };
      }
      const lastBanEndMs = subject.keyId === undefined ? 0 : bans.lastEnd(subject.keyId);
      return { subject, counter: { ...accounts.find(subject.accountId, nowMs) }, lastBanEndMs };
    },
    learn(attempt, { counter, bannedUntilMs, nowMs }) {
      Object.assign(change(attempt, nowMs), counter);
      if (attempt.kind === 'address') return;
      if (bannedUntilMs > 0) bans.restore(attempt.keyId, bannedUntilMs, nowMs);
      else bans.forget(attempt.keyId);
    },
    countStreams: () => true,
    drain: () => accounts.drain(),
    restoreUsage(rows) {
      for (const row of rows) accounts.restore(row);
    },
    restoreBans(restored) {
      for (const { keyId, untilMs } of restored) bans.restore(keyId, untilMs, 0);
    },
    close: async () => undefined,
  };
}
