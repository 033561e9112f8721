/**
 * What a limiter does: it decides on each request, in one call, whether the request is admitted.
 *
 * The limiter keeps the counts and the bans. The caller passes the time, and the quota of the account's plan. A limiter
 * is exact: concurrent requests never exceed the quota, not even by one.
 */
import type { AccountId, KeyId, Quota } from '../../rpc/caller.ts';
import type { Ban, BanPolicy, DayUsage, KeyUse } from '../tables/model.ts';
import { type Counter, hasRoom, type Refused, secondsUntil, toVerdict, type Verdict } from './windows.ts';

/** Whom a request counts under. */
export type Subject =
  | { readonly kind: 'account'; readonly accountId: AccountId }
  /** An IP address, or the prefix that counts as one caller. */
  | { readonly kind: 'address'; readonly address: string };

/** The subject's name in Redis keys and in the details of a 429: `account:7`, `address:192.0.2.1`. */
export function subjectName(subject: Subject): string {
  return subject.kind === 'account' ? `account:${subject.accountId}` : `address:${subject.address}`;
}

interface Moment {
  readonly nowMs: number;
  /**
   * Identifies the request. The edge may send a request to several servers. Those that share their counts decide on
   * it once, and it counts once. Undefined for a request that nobody repeats by itself.
   */
  readonly requestId?: string | undefined;
}

/** A request with a valid key. It counts against the account; its refusals count against the key. */
export type AccountAttempt = Extract<Subject, { kind: 'account' }> &
  Moment & { readonly keyId: KeyId; readonly quota: Quota };

/** A request without a valid key. It counts against its address, by the minute alone. */
export type AddressAttempt = Extract<Subject, { kind: 'address' }> & Moment;

export type Attempt = AccountAttempt | AddressAttempt;

/** The key is banned. The numbers are the account's, without this request; but the reset is the end of the ban. */
export interface Banned extends Refused {
  readonly bannedUntilMs: number;
}

/**
 * What the limiter decides: that the key is banned, or the verdict of the windows. A refusal may begin a ban, which the
 * caller has to store.
 */
export type Decision = (Verdict & { readonly begunBan?: Ban }) | Banned;

export interface LimiterOptions {
  readonly ban: BanPolicy;
  readonly addresses: {
    readonly perMinute: number;
    /** How many addresses have counters of their own in one minute, about 200 bytes each. */
    readonly maxTracked: number;
  };
}

/** What an account has used at one moment, for the operator. */
export interface Counts {
  readonly counter: Readonly<Counter>;
  /** The counts are those that this server knows: the shared counts are unavailable. */
  readonly isLocal: boolean;
}

/** What a limiter hands over to be stored. */
export interface Drained {
  readonly usage: readonly DayUsage[];
  readonly keyUses: readonly KeyUse[];
}

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

  /** The time by which requests are counted and bans end. */
  now(): number | Promise<number>;
  /** Returns an account's current counts. Counts nothing. */
  counts(accountId: AccountId, nowMs: number): Counts | Promise<Counts>;
  /**
   * Ends a key's ban at once, on all servers that share the counts, and deletes the key's refusals. Returns false, and
   * does nothing, if other servers would not learn it.
   */
  unban(accountId: AccountId, keyId: KeyId): boolean | Promise<boolean>;

  /**
   * Returns the account days that changed, and the keys that were used, since the last call. The limiter holds them
   * until then. A caller that fails to write a row has to write it again.
   */
  drain(): Drained;
  /** Restores the counts of a day, before the first request. */
  restoreUsage(rows: Iterable<DayUsage>): void;
  restoreBans(bans: Iterable<Pick<Ban, 'keyId' | 'untilMs'>>): void;
  /** Closes connections. */
  close(): Promise<void>;
}

/** The counts of a subject after a call, and the end of the key's ban or 0. */
export interface State {
  readonly counter: Readonly<Counter>;
  readonly bannedUntilMs: number;
  readonly nowMs: number;
}

/** The state after a request. A ban of a key that was only refused begins with this request. */
export interface Outcome extends State {
  readonly status: 'admitted' | 'refused' | 'banned';
}

/** Returns the quota of an account, or that of every address. */
export function quotaOf(attempt: Attempt, { addresses }: Pick<LimiterOptions, 'addresses'>): Quota {
  return attempt.kind === 'account'
    ? attempt.quota
    : { perMinute: addresses.perMinute, perDay: Number.POSITIVE_INFINITY };
}

/** Makes the decision on a request from its outcome. */
export function toDecision(attempt: Attempt, outcome: Outcome, options: LimiterOptions): Decision {
  const { status, counter, bannedUntilMs, nowMs } = outcome;
  const verdict = toVerdict(status === 'admitted', counter, quotaOf(attempt, options), nowMs);
  if (status === 'banned') {
    const retryAfterSeconds = secondsUntil(bannedUntilMs, nowMs);
    const resetAtSeconds = Math.ceil(bannedUntilMs / 1_000);
    return { ...verdict, allowed: false, bannedUntilMs, retryAfterSeconds, resetAtSeconds };
  }
  if (attempt.kind === 'address' || verdict.allowed || bannedUntilMs === 0) return verdict;
  const { durationMs, refusals } = options.ban;
  const { window } = verdict;
  return { ...verdict, begunBan: { keyId: attempt.keyId, untilMs: bannedUntilMs, durationMs, refusals, window } };
}

/** Makes the verdict that a request would get. */
export function toPeek(
  attempt: Attempt,
  { counter, nowMs }: Pick<State, 'counter' | 'nowMs'>,
  options: LimiterOptions,
): Verdict {
  const quota = quotaOf(attempt, options);
  return toVerdict(hasRoom(counter, quota), counter, quota, nowMs);
}
