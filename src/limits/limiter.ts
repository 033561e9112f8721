/**
 * What every limits engine does: says of each request, in one call, whether it may pass.
 *
 * The engine keeps the counts and the bans; the caller brings the time and the quota, which it knows from the plan.
 * An engine is exact: however many requests come at once, never one more than the quota passes.
 */
import type { Quota } from '../model.ts';
import type { Counter, Reading, Verdict } from './windows.ts';

/** A request with a valid key. It counts against the account; its refusals count against the key. */
export interface AccountAttempt {
  readonly kind: 'account';
  /** The account's id. */
  readonly subject: string;
  /** The id of the key (not the key itself). */
  readonly key: string;
  readonly quota: Quota;
  readonly nowMs: number;
}

/** A request without a valid key. It counts against its IP address, by the minute alone. */
interface AddressAttempt {
  readonly kind: 'address';
  /** The address, or the prefix of it that stands for one caller. */
  readonly subject: string;
  readonly nowMs: number;
}

export type Attempt = AccountAttempt | AddressAttempt;

/** The key is banned. The numbers are the account's, in which this request does not count. */
export interface Banned extends Reading {
  readonly allowed: false;
  readonly bannedUntilMs: number;
  /** Whole seconds until the ban ends, rounded up: at least 1. */
  readonly retryAfterSeconds: number;
}

/** The windows' verdict on a request that was judged: a refusal may be the one that bans the key. */
export type Judged = Verdict & { readonly beginsBan?: true };

export type Decision = Judged | Banned;

export interface Limiter {
  /** Judges a request and, if it may pass, counts it. A ban comes before the windows: `'bannedUntilMs' in decision`. */
  admit(attempt: Attempt): Decision | Promise<Decision>;
  /** The windows' verdict as it stands, for an answer that shows the numbers and counts nothing. Ignores bans. */
  peek(attempt: Attempt): Verdict | Promise<Verdict>;
}

export interface Ban {
  /** The id of the key. */
  readonly key: string;
  readonly untilMs: number;
}

/** A ban that has just begun, and why. */
export interface NewBan extends Ban {
  readonly sinceMs: number;
  /** How many refusals led to it. */
  readonly refusals: number;
  /** Whose limit the last of them was beyond. */
  readonly window: Reading['window'];
}

/** What an account has used, at one moment. */
export interface Counts {
  readonly counter: Readonly<Counter>;
  /** Requests of the day that were refused. */
  readonly refused: number;
  /** Only this server's own view: the servers' common counts can't be had just now. */
  readonly isLocal: boolean;
}

/** When a key was last used, whatever became of the request. */
export interface KeyUse {
  readonly key: string;
  readonly atMs: number;
}

/** The servers' common counts and bans can't be had, or changed, just now. */
export class LimitsUnavailable extends Error {
  override name = 'LimitsUnavailable';
}

/** What the operator may ask of the limits. */
export interface LimitsAdmin {
  /** An account's counts as they stand. Counts nothing. */
  counts(subject: string, nowMs: number): Counts | Promise<Counts>;
  /**
   * Ends a key's ban at once, for all servers that share the counts, and forgets its refusals. Resolves with a moment:
   * what has ended are the bans that would have ended by then.
   *
   * @throws LimitsUnavailable when other servers might not learn of it.
   */
  unban(subject: string, key: string, nowMs: number): number | Promise<number>;
}

/** What an account has used of a day, in totals: writing a row twice is the same as once, and the greater totals win. */
export interface UsageRow {
  readonly subject: string;
  /** Days since 1970-01-01, UTC. */
  readonly dayIndex: number;
  /** Requests that were admitted, and so counted. */
  readonly requests: number;
  /** Requests that were refused, by a window or by a ban. */
  readonly refused: number;
}

/** A limiter with what its owner needs to make its counts outlive it. */
export interface ManagedLimiter extends Limiter, LimitsAdmin {
  /**
   * The accounts' days that changed since the last call. They are held until they are drained, so somebody has to.
   * Rows whose writing fails are the caller's to write again.
   */
  drainUsage(): UsageRow[];
  /** The keys that were used since the last call. They are held until they are drained, too. */
  drainKeyUses(): KeyUse[];
  /**
   * Takes up the day's counts: to be called before the first request, with the rows of the current day. Those of
   * earlier days are ignored.
   */
  restoreUsage(rows: Iterable<UsageRow>): void;
  /** Takes up bans; those already over do no harm. */
  restoreBans(bans: Iterable<Ban>): void;
  /** Forgets a ban that another server has ended, unless it ends later than that one, and the key's refusals. */
  forgetBan(ended: Ban): void;
  /** Lets go of what it holds outside of this process. */
  close(): Promise<void>;
}
