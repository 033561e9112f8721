/**
 * The interface of a limiter: it decides on each request, in one call, whether the request is admitted.
 *
 * The limiter keeps the counts and the bans. The caller passes the time, and the quota of the account's plan. A limiter
 * is exact: concurrent requests never exceed the quota, not even by one.
 */
import type { AccountId, KeyId, Quota } from '../../rpc/caller.ts';
import type { Ban, DayUsage, KeyUse } from '../tables/model.ts';
import type { Counter, Refused, Verdict } from './windows.ts';

/** Whom a request counts under. */
export type Subject =
  | { readonly kind: 'account'; readonly accountId: AccountId }
  /** An IP address, or the prefix that counts as one caller. */
  | { readonly kind: 'address'; readonly address: string };

/** The subject's name in Redis keys and in the details of a 429: `account:7`, `address:192.0.2.1`. */
export function subjectName(subject: Subject): string {
  return subject.kind === 'account' ? `account:${subject.accountId}` : `address:${subject.address}`;
}

/** A request with a valid key. It counts against the account; its refusals count against the key. */
export type AccountAttempt = Extract<Subject, { kind: 'account' }> & {
  readonly keyId: KeyId;
  readonly quota: Quota;
  readonly nowMs: number;
};

/** A request without a valid key. It counts against its address, by the minute alone. */
export type AddressAttempt = Extract<Subject, { kind: 'address' }> & { readonly nowMs: number };

export type Attempt = AccountAttempt | AddressAttempt;

/** The key is banned. The numbers are the account's; this request does not count in them. */
export interface Banned extends Refused {
  readonly bannedUntilMs: number;
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
  /**
   * Tells how many streams of events of an account this server has open. Returns false, and takes no notice, if with
   * those of other servers they are more than `max`. It must be told again within 10 s. While it is not known what
   * other servers have, each counts alone.
   */
  countStreams(accountId: AccountId, own: number, max: number): boolean | Promise<boolean>;
}

/** What an account has used at one moment, for the operator. */
export interface Counts {
  readonly counter: Readonly<Counter>;
  /** The counts are those that this server knows: the shared counts are unavailable. */
  readonly isLocal: boolean;
}

/** What an operator may read and change. */
export interface LimitsAdmin {
  /** The time by which requests are counted and bans end. */
  now(): number | Promise<number>;
  /** Returns an account's current counts. Counts nothing. */
  counts(accountId: AccountId, nowMs: number): Counts | Promise<Counts>;
  /**
   * Ends a key's ban at once, on all servers that share the counts, and deletes the key's refusals. Returns the latest
   * end that a ban can have which began until now; undefined if nothing was done, as other servers would not learn it.
   */
  unban(accountId: AccountId, keyId: KeyId, nowMs: number): number | Promise<number | undefined>;
}

/** What a limiter hands over to be stored. */
export interface Drained {
  readonly usage: readonly DayUsage[];
  readonly keyUses: readonly KeyUse[];
}

/** A limiter whose counts and bans can be stored and restored. */
export interface ManagedLimiter extends Limiter, LimitsAdmin {
  /**
   * Returns the account days that changed, and the keys that were used, since the last call. The limiter holds them
   * until then. A caller that fails to write a row has to write it again.
   */
  drain(): Drained;
  /** Restores the counts of days, before the first request. The last two days are kept. */
  restoreUsage(rows: Iterable<DayUsage>): void;
  restoreBans(bans: Iterable<Pick<Ban, 'keyId' | 'untilMs'>>): void;
  /** Closes connections. */
  close(): Promise<void>;
}
