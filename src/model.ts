/** The types that services and storage exchange. */

declare const kind: unique symbol;

/** An id that can't be passed where the id of something else is expected. `toPetId` and the like make one. */
type Id<Kind extends string> = bigint & { readonly [kind]: Kind };

export type PetId = Id<'pet'>;
export type CategoryId = Id<'category'>;
export type OrderId = Id<'order'>;
export type AccountId = Id<'account'>;
export type KeyId = Id<'key'>;
export type EventId = Id<'event'>;

export const toPetId = (id: bigint) => id as PetId;
export const toCategoryId = (id: bigint) => id as CategoryId;
export const toOrderId = (id: bigint) => id as OrderId;
export const toAccountId = (id: bigint) => id as AccountId;
export const toKeyId = (id: bigint) => id as KeyId;
export const toEventId = (id: bigint) => id as EventId;

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

export interface Pet {
  readonly id: PetId;
  readonly name: string;
  readonly categoryId: CategoryId;
  readonly status: PetStatus;
  /** Units in stock: the pet's inventory entry. */
  readonly quantity: number;
}

export interface Category {
  readonly id: CategoryId;
  readonly name: string;
  readonly description: string | undefined;
}

/** An instant with the precision of protobuf's Timestamp. */
export interface Instant {
  readonly seconds: bigint;
  readonly nanos: number;
}

export interface Order {
  readonly id: OrderId;
  readonly petId: PetId | undefined;
  readonly quantity: number;
  readonly shipDate: Instant | undefined;
  readonly complete: boolean;
}

/** Asks for a page of a list: at most `limit` rows with an id above `after`. */
export interface PageRequest {
  readonly after: bigint;
  readonly limit: number;
}

export interface Page<T> {
  readonly rows: readonly T[];
  readonly hasMore: boolean;
}

/** Returns true once the caller's deadline has passed or the caller has left. */
export type IsCancelled = () => boolean;

export const PLANS = ['free', 'pro', 'business', 'enterprise'] as const;
export type Plan = (typeof PLANS)[number];

/** How many requests an account may make per minute and per day. */
export interface Quota {
  readonly perMinute: number;
  /** `Infinity` for no daily limit. */
  readonly perDay: number;
}

/** When a key is banned, and for how long: `refusals` within `windowMs` ban it for `durationMs`. */
export interface BanPolicy {
  readonly refusals: number;
  readonly windowMs: number;
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

export type BanWindow = 'minute' | 'day';

/** A temporary ban of a key. It began `durationMs` before its end. */
export interface Ban {
  readonly keyId: KeyId;
  readonly untilMs: number;
  readonly durationMs: number;
  /** How many refusals led to the ban. */
  readonly refusals: number;
  /** The window whose limit the last refused request exceeded. */
  readonly window: BanWindow;
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

/** A request that was carried out under an idempotency key, and its response. */
export interface IdempotencyRecord {
  /** Identifies the idempotency key of a caller: letters, digits, "-" and "_". */
  readonly id: string;
  /** Distinguishes this request from a different one under the same key. */
  readonly requestDigest: Buffer;
  /** The encoded response message. */
  readonly response: Buffer;
  readonly createdAtMs: number;
}

/** Makes the idempotency record for the result of a write. The record is stored in the transaction of that write. */
export type Remember = (result: unknown) => IdempotencyRecord;

export const EVENT_TYPES = [
  'pet.created',
  'pet.updated',
  'pet.deleted',
  'category.created',
  'category.updated',
  'category.deleted',
  'order.created',
  'order.updated',
  'order.deleted',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** An event as it is stored: one change of one row. */
export interface StoredEvent {
  readonly id: EventId;
  readonly type: EventType;
  readonly timeMs: number;
  /** The row after the change, or before its deletion, as a JSON object. */
  readonly row: string;
}
