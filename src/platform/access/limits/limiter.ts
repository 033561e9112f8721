/**
 * What a limiter does: it decides on each request, in one call, whether the request is admitted. memory.ts and redis.ts
 * are limiters; src/service.ts makes the one that the settings ask for.
 *
 * The limiter keeps the counts and the bans. The caller passes the time, and the quota of the account's plan. A limiter
 * is exact: concurrent requests never exceed the quota, not even by one.
 */
import type { Quota } from '../../config/plans.ts';
import type { AccountId, KeyId } from '../../rpc/caller.ts';
import type { Ban } from '../tables/bans.ts';
import type { DayUsage, KeyUse } from '../tables/usage.ts';
import type { BanPolicy } from './ban-tracker.ts';
import { type Counter, hasRoom, readWindows, secondsUntil, type WindowUse } from './windows.ts';

export type Subject =
  | { readonly kind: 'account'; readonly accountId: AccountId }
  /** An IP address, or the prefix that counts as one caller. What guesses keys is counted apart from its requests. */
  | { readonly kind: 'address' | 'guesses'; readonly address: string };

/** The subject's name in Redis keys and in the details of a 429: `account:7`, `address:192.0.2.1`. */
export function subjectName(subject: Subject): string {
  return `${subject.kind}:${subject.kind === 'account' ? subject.accountId : subject.address}`;
}

export type Attempt = Subject & {
  readonly quota: Quota;
  /** The key of an account's request: refusals count against it. */
  readonly keyId?: KeyId;
  readonly nowMs: number;
  /** Identifies a request that the edge may send to several servers: those that share counts decide on it once. */
  readonly requestId?: string | undefined;
};

/**
 * Whether a request is admitted, with the numbers of the window with the fewest requests left, on a tie of the day: so
 * a refusal shows the window that is full. For a banned key the numbers are the account's, without this request; but
 * the reset is the end of the ban, also for the refusal that begins it.
 */
export interface Decision extends WindowUse {
  readonly allowed: boolean;
  /** All windows that limit the subject, the minute first. */
  readonly windows: readonly WindowUse[];
  /** Requests of the day that were refused. */
  readonly refused: number;
  /** These are this server's own counts: the shared ones were unavailable. */
  readonly isLocal?: boolean;
  readonly nowMs: number;
  /** Whole seconds until the reset, rounded up: at least 1. */
  readonly retryAfterSeconds: number;
  /** The end of a ban that held before. */
  readonly bannedUntilMs: number | undefined;
  /** The ban that a refusal begins: the caller has to store it. */
  readonly begunBan: Ban | undefined;
}

export interface LimiterOptions {
  readonly ban: BanPolicy;
  /** How many addresses have counters of their own in one minute, about 200 bytes each. Default: 100,000. */
  readonly maxAddresses?: number;
}

export interface Limiter {
  /** Counts a request if it is admitted. Of a banned key none is: the decision has `bannedUntilMs`. */
  admit(attempt: Attempt): Decision | Promise<Decision>;
  /** Decides as `admit` would, to show the numbers. Counts nothing. */
  peek(attempt: Attempt): Decision | Promise<Decision>;
  /**
   * Tells how many streams of events of an account this server has open: again within STREAMS_KEPT_MS. Returns false,
   * and takes no notice, if with those of other servers, as far as they are known, they are more than `max`.
   */
  countEventStreams(accountId: AccountId, own: number, max: number): boolean | Promise<boolean>;

  /** The time by which requests are counted and bans end. */
  now(): number | Promise<number>;
  /** Ends a key's ban, and deletes its refusals. False, with nothing done, if other servers would not learn it. */
  unban(accountId: AccountId, keyId: KeyId): boolean | Promise<boolean>;

  /** Hands over the account days that changed, and the keys that were used, since the last call. */
  drain(): { readonly usage: readonly DayUsage[]; readonly keyUses: readonly KeyUse[] };
  /** Restores the counts of a day, before the first request. */
  restoreUsage(rows: Iterable<DayUsage>): void;
  restoreBans(bans: Iterable<Pick<Ban, 'keyId' | 'untilMs'>>): void;
  close(): Promise<void>;
}

/** What became of a request, or \`seen\` of a look; the counts after it; the end of the key's ban, or 0. */
export interface Outcome {
  readonly status: 'admitted' | 'refused' | 'banned' | 'seen';
  readonly counter: Readonly<Counter>;
  readonly bannedUntilMs: number;
  readonly nowMs: number;
}

export function toDecision(
  { quota, keyId }: Attempt,
  { status, counter, bannedUntilMs, nowMs }: Outcome,
  { ban: { durationMs, refusals } }: LimiterOptions,
): Decision {
  const windows = readWindows(counter, quota);
  const binding = windows.reduce((one, other) => (other.remaining <= one.remaining ? other : one));
  const resetAtMs = bannedUntilMs > 0 ? bannedUntilMs : binding.resetAtSeconds * 1_000;
  return {
    ...binding,
    allowed: status === 'seen' ? hasRoom(counter, quota) : status === 'admitted',
    windows,
    refused: counter.refused,
    nowMs,
    resetAtSeconds: Math.ceil(resetAtMs / 1_000),
    retryAfterSeconds: secondsUntil(resetAtMs, nowMs),
    bannedUntilMs: status === 'banned' ? bannedUntilMs : undefined,
    begunBan:
      keyId !== undefined && status === 'refused' && bannedUntilMs > 0
        ? { keyId, untilMs: bannedUntilMs, durationMs, refusals, window: binding.window }
        : undefined,
  };
}
