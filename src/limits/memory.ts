/**
 * The limits of one process, in memory.
 *
 * Algorithm: fixed windows (`windows.ts`) and a sliding count of refusals (`ban-tracker.ts`). A decision is
 * synchronous, so that no other request can come between its reading and its counting: that makes it exact. A request
 * of a known subject costs three look-ups at most and allocates only its decision.
 *
 * Memory: fixed windows end for all at once, so nothing has to be swept. All addresses are dropped when a minute
 * begins, all accounts two days later. The operator decides how many accounts there are; the number of addresses is
 * bounded (`address-counters.ts`). A flood of addresses can turn the 401 of a new address into a 429, but grants no
 * address more requests than its quota and does not affect callers with a valid key.
 *
 * Failure: nothing here can fail. For a crash, the owner stores the day's counts (`drainUsage`, twice a second) and the
 * bans (`onBan`), and restores them at the start. The minute's counts start from zero.
 */
import type { AccountId, Ban, BanPolicy, KeyId, Quota } from '../model.ts';
import { AccountCounters } from './account-counters.ts';
import { AddressCounters } from './address-counters.ts';
import { BanTracker, newBan, toBanned } from './ban-tracker.ts';
import type { AccountAttempt, Attempt, Counts, Decision, ManagedLimiter, Used } from './limiter.ts';
import type { Subject } from './subjects.ts';
import { counterAt, countRequest, peek, type Verdict } from './windows.ts';

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

/** What a server knows when it asks another place for a decision. */
export interface Known extends Used {
  /** The subject that the request counts under: addresses may share one. */
  readonly subject: Subject;
  /** The end of the key's last ban; 0 without a key or a ban. */
  readonly lastBanEndMs: number;
}

/** The other place's decision: what the subject has used, and the end of the key's ban or 0. */
export interface Learned extends Used {
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
  /** How much is in memory. */
  readonly tracked: { readonly accounts: number; readonly addresses: number; readonly keys: number };
}

/** The name of the counter that the addresses beyond `maxTracked` share. */
const SHARED: Subject = { kind: 'address', address: 'others' };

export function quotaOfAddresses({ addresses }: Pick<MemoryLimiterOptions, 'addresses'>): Quota {
  return { perMinute: addresses.perMinute, perDay: Number.POSITIVE_INFINITY };
}

export function createMemoryLimiter(options: MemoryLimiterOptions): MemoryLimiter {
  const { onBan, ban } = options;
  const accounts = new AccountCounters();
  const bans = new BanTracker(ban);
  const addresses = new AddressCounters(options.addresses.maxTracked);
  const addressQuota = quotaOfAddresses(options);

  function admitAccount({ accountId, keyId, quota, nowMs }: AccountAttempt): Decision {
    const account = accounts.change(accountId, nowMs);
    accounts.recordKeyUse(keyId, nowMs);
    const bannedUntilMs = bans.bannedUntil(keyId, nowMs);
    if (bannedUntilMs !== undefined) {
      account.refused += 1;
      return toBanned(peek(account.counter, quota, nowMs), bannedUntilMs, nowMs);
    }
    const verdict = countRequest(account.counter, quota, nowMs);
    if (verdict.allowed) return verdict;
    account.refused += 1;
    if (bans.recordRefusal(keyId, nowMs) === undefined) return verdict;
    onBan?.(newBan(keyId, ban, nowMs, verdict.window));
    return { ...verdict, beginsBan: true };
  }

  return {
    admit(attempt) {
      if (attempt.kind === 'account') return admitAccount(attempt);
      const { address, nowMs } = attempt;
      return countRequest(addresses.getOrAdd(address, nowMs), addressQuota, nowMs);
    },
    peek(attempt) {
      const { nowMs } = attempt;
      if (attempt.kind === 'account')
        return peek(accounts.find(attempt.accountId, nowMs).counter, attempt.quota, nowMs);
      return peek(addresses.counterOf(attempt.address, nowMs), addressQuota, nowMs);
    },
    counts(accountId, nowMs) {
      const { counter, refused } = accounts.find(accountId, nowMs);
      return { counter: counterAt(counter, nowMs), refused, isLocal: false };
    },
    unban(_accountId, keyId, nowMs) {
      bans.forget(keyId, Number.POSITIVE_INFINITY);
      return nowMs + ban.durationMs;
    },
    known(subject, nowMs) {
      if (subject.kind === 'account') {
        const { counter, refused } = accounts.find(subject.accountId, nowMs);
        const lastBanEndMs = subject.keyId === undefined ? 0 : bans.lastEnd(subject.keyId);
        return { subject, counter: { ...counter }, refused, lastBanEndMs };
      }
      const counter = addresses.getOrAdd(subject.address, nowMs);
      const counted = addresses.isShared(counter) ? SHARED : subject;
      return { subject: counted, counter: { ...counter }, refused: 0, lastBanEndMs: 0 };
    },
    learn(attempt, { counter, refused, bannedUntilMs, nowMs }) {
      if (attempt.kind === 'address') {
        Object.assign(addresses.getOrAdd(attempt.address, attempt.nowMs), counter);
        return;
      }
      const { accountId, keyId } = attempt;
      const account = accounts.change(accountId, nowMs);
      Object.assign(account.counter, counter);
      account.refused = refused;
      accounts.recordKeyUse(keyId, nowMs);
      if (bannedUntilMs > 0) bans.restore(keyId, bannedUntilMs, nowMs);
      else bans.forget(keyId, Number.POSITIVE_INFINITY);
    },
    drainUsage: () => accounts.drain(),
    drainKeyUses: () => accounts.drainKeyUses(),
    restoreUsage(rows) {
      for (const row of rows) accounts.restore(row);
    },
    restoreBans(restored) {
      for (const { keyId, untilMs } of restored) bans.restore(keyId, untilMs, 0);
    },
    forgetBan: (keyId, untilMs) => bans.forget(keyId, untilMs),
    close: async () => undefined,
    get tracked() {
      return { accounts: accounts.size, addresses: addresses.size, keys: bans.size };
    },
  };
}
