/** The pet store's own terms, as services and storage exchange them. */

export type PetStatus = 'available' | 'pending' | 'sold';

export interface Pet {
  readonly id: bigint;
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: PetStatus;
  /** Units in stock: the pet's inventory entry. */
  readonly quantity: number;
}

export interface Category {
  readonly id: bigint;
  readonly name: string;
  readonly description: string | undefined;
}

/** An instant with the precision of protobuf's Timestamp. */
export interface Instant {
  readonly seconds: bigint;
  readonly nanos: number;
}

export interface Order {
  readonly id: bigint;
  readonly petId: bigint | undefined;
  readonly quantity: number;
  readonly shipDate: Instant | undefined;
  readonly complete: boolean;
}

/** One page of a list: at most `limit` rows with an id above `after`, and whether there are more. */
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

export type Plan = 'free' | 'pro' | 'business' | 'enterprise';

/** How many requests an account may make in each window. */
export interface Quota {
  readonly perMinute: number;
  /** `Infinity`: no limit by the day. */
  readonly perDay: number;
}

/** When a key is banned, and for how long. */
export interface BanPolicy {
  /** This many refusals … */
  readonly refusals: number;
  /** … no further apart than this, first to last, … */
  readonly windowMs: number;
  /** … ban the key for this long, from the last of them. */
  readonly durationMs: number;
}

export interface Account {
  readonly id: bigint;
  readonly name: string;
  readonly plan: Plan;
  /** What was agreed with an enterprise account: requests in each window. */
  readonly agreed: Quota | undefined;
  readonly isSuspended: boolean;
  readonly createdAtMs: number;
}

export interface ApiKey {
  readonly id: bigint;
  readonly accountId: bigint;
  /** The first characters of the key, for display. */
  readonly prefix: string;
  readonly label: string | undefined;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
}

/** A key that is shut out for a while. */
export interface Ban {
  readonly keyId: bigint;
  readonly untilMs: number;
  /** Undefined for a ban that a server of an earlier release has stored. */
  readonly cause: BanCause | undefined;
}

export interface BanCause {
  readonly sinceMs: number;
  /** How many refusals led to it. */
  readonly refusals: number;
  /** Whose limit the last of them was beyond. */
  readonly window: 'minute' | 'day';
}

/** A ban, and whom it concerns. */
export interface BannedKey extends Ban {
  readonly prefix: string;
  readonly label: string | undefined;
  readonly accountId: bigint;
  readonly accountName: string;
}

/** When a key was last used. */
export interface KeyUse {
  readonly keyId: bigint;
  readonly lastUsedAtMs: number;
}

/** What an account used on one day. */
export interface DayUsage {
  readonly accountId: bigint;
  /** Days since 1970-01-01, UTC. */
  readonly dayIndex: number;
  readonly requests: number;
  readonly refused: number;
}

/** What was done under an idempotency key, and how it was answered. */
export interface IdempotencyRecord {
  /** Names the caller's key: letters, digits, "-" and "_". */
  readonly id: string;
  /** Tells the request from others under the same key. */
  readonly requestDigest: Buffer;
  /** The answer, in a form that whoever wrote it can read. */
  readonly answer: Buffer;
  readonly createdAtMs: number;
}

/** Makes the record of a result, which is stored in the transaction that it is the result of. */
export type Remember = (result: unknown) => IdempotencyRecord;
