/**
 * What every limits engine does: says of each request, in one call, whether it may pass.
 *
 * The engine keeps the counts and the bans; the caller brings the time and the quota, which it knows from the plan.
 * An engine is exact: however many requests come at once, never one more than the quota passes.
 */
import type { Quota, Reading, Verdict } from './windows.ts';

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

export type Decision = Verdict | Banned;

export interface Limiter {
  /** Judges a request and, if it may pass, counts it. A ban comes before the windows: `'bannedUntilMs' in decision`. */
  admit(attempt: Attempt): Decision | Promise<Decision>;
  /** The windows' verdict as it stands, for an answer that shows the numbers and counts nothing. Ignores bans. */
  peek(attempt: Attempt): Verdict | Promise<Verdict>;
}
