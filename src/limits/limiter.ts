/**
 * The interface of a limiter: it decides on each request, in one call, whether the request is admitted.
 *
 * The limiter keeps the counts and the bans. The caller passes the time, and the quota of the account's plan. A limiter
 * is exact: concurrent requests never exceed the quota, not even by one.
 */
import type { AccountId, DayUsage, KeyId, Quota } from '../model.ts';
import type { Address } from './subjects.ts';
import type { Counter, Reading, Verdict } from './windows.ts';

/** A request with a valid key. It counts against the account; its refusals count against the key. */
export interface AccountAttempt {
  readonly kind: 'account';
  readonly accountId: AccountId;
  readonly keyId: KeyId;
  readonly quota: Quota;
  readonly nowMs: number;
}

/** A request without a valid key. It counts against its address, by the minute alone. */
export interface AddressAttempt {
  readonly kind: 'address';
  readonly address: Address;
  readonly nowMs: number;
}

export type Attempt = AccountAttempt | AddressAttempt;

/** The key is banned. The numbers are the account's; this request does not count in them. */
export interface Banned extends Reading {
  readonly allowed: false;
  readonly bannedUntilMs: number;
  /** Whole seconds until the ban ends, rounded up: at least 1. */
  readonly retryAfterSeconds: number;
}

/** What the limiter decides: that the key is banned, or the verdict of the windows. A refusal may begin a ban. */
export type Decision = (Verdict & { readonly beginsBan?: true }) | Banned;

export interface Limiter {
  /**
   * Decides on a request and counts it if it is admitted. Checks for a ban before the windows: a decision on a banned
   * key has `bannedUntilMs`.
   */
  admit(attempt: Attempt): Decision | Promise<Decision>;
  /** Returns the verdict of the windows, for a response that shows the numbers. Counts nothing; ignores bans. */
  peek(attempt: Attempt): Verdict | Promise<Verdict>;
}

export interface Ban {
  readonly keyId: KeyId;
  readonly untilMs: number;
}

/** A ban that has just begun, and why. */
export interface NewBan extends Ban {
  readonly sinceMs: number;
  /** How many refusals led to it. */
  readonly refusals: number;
  /** The window whose limit the last refused request exceeded. */
  readonly window: Reading['window'];
}

/** What an account has used, at one moment. */
export interface Counts {
  readonly counter: Readonly<Counter>;
  /** Requests of the day that were refused. */
  readonly refused: number;
  /** The counts are this server's own: the shared counts are unavailable. */
  readonly isLocal: boolean;
}

/** When a key was last used, by an admitted or a refused request. */
export interface KeyUse {
  readonly keyId: KeyId;
  readonly atMs: number;
}

/** The counts and bans that the servers share are unavailable. */
export class LimitsUnavailable extends Error {
  override name = 'LimitsUnavailable';
}

/** What an operator may read and change. */
export interface LimitsAdmin {
  /** Returns an account's current counts. Counts nothing. */
  counts(accountId: AccountId, nowMs: number): Counts | Promise<Counts>;
  /**
   * Ends a key's ban at once, on all servers that share the counts, and deletes the key's refusals. Returns a moment:
   * the bans that would have ended by then are the ones that were ended.
   *
   * @throws LimitsUnavailable when other servers might not learn of it.
   */
  unban(accountId: AccountId, keyId: KeyId, nowMs: number): number | Promise<number>;
}

/** A limiter whose counts and bans can be stored and restored. */
export interface ManagedLimiter extends Limiter, LimitsAdmin {
  /**
   * Returns the account days that changed since the last call. The limiter holds them until they are drained. A caller
   * that fails to write a row has to write it again.
   */
  drainUsage(): DayUsage[];
  /** Returns the keys that were used since the last call. The limiter holds them until they are drained. */
  drainKeyUses(): KeyUse[];
  /** Restores the counts of the current day, before the first request. Ignores rows of earlier days. */
  restoreUsage(rows: Iterable<DayUsage>): void;
  /** Restores bans. Ignores those that have ended. */
  restoreBans(bans: Iterable<Ban>): void;
  /** Deletes the key's refusals, and its ban unless it ends later than `ended`, which another server has ended. */
  forgetBan(ended: Ban): void;
  /** Closes connections. */
  close(): Promise<void>;
}
