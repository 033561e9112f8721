/** Accounts, their keys and plans, bans and usage. */
import type { Plan, Quota } from '../../config/plans.ts';
import type { AccountId, KeyId } from '../../rpc/caller.ts';

/** When a key is banned, and for how long: `refusals` within `windowMs` ban it for `durationMs`. */
export interface BanPolicy {
  readonly refusals: number;
  readonly windowMs: number;
  /** After the first refusal of a minute, refusals do not count for this long: they were on their way. */
  readonly graceMs: number;
  /** From the last of the refusals. */
  readonly durationMs: number;
}

export interface Account {
  readonly id: AccountId;
  readonly name: string;
  readonly plan: Plan;
  /** The quota that was agreed with an enterprise account. */
  readonly agreed: Quota | undefined;
  readonly isSuspended: boolean;
  readonly createdAtMs: number;
}

export interface ApiKey {
  readonly id: KeyId;
  readonly accountId: AccountId;
  /** The first characters of the key, for display. */
  readonly prefix: string;
  readonly label: string | undefined;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
}

/** The windows of the limits, and their lengths. */
export const WINDOW_SECONDS = { minute: 60, day: 86_400 } as const;

export type LimitWindow = keyof typeof WINDOW_SECONDS;

/** A temporary ban of a key. It began `durationMs` before its end. */
export interface Ban {
  readonly keyId: KeyId;
  readonly untilMs: number;
  readonly durationMs: number;
  /** How many refusals led to the ban. */
  readonly refusals: number;
  /** The window whose limit the last refused request exceeded. */
  readonly window: LimitWindow;
}

/** A ban with its key and account. */
export interface BannedKey extends Ban {
  readonly prefix: string;
  readonly label: string | undefined;
  readonly accountId: AccountId;
  readonly accountName: string;
}

/** When a key was last used. */
export interface KeyUse {
  readonly keyId: KeyId;
  readonly lastUsedAtMs: number;
}

/** The totals of an account's day. Storing a row twice is the same as once; of two rows the greater totals win. */
export interface DayUsage {
  readonly accountId: AccountId;
  /** Days since 1970-01-01, UTC. */
  readonly dayIndex: number;
  /** Requests that were admitted, and so counted. */
  readonly requests: number;
  /** Requests that were refused, by a window or by a ban. */
  readonly refused: number;
}
