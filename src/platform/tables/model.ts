/** The types of every table: ids, owners, pages, the records of idempotency keys. */

declare const kind: unique symbol;

/** An id that can't be passed where the id of something else is expected. A text has letters, digits, "-" and "_". */
export type Id<Kind extends string, Of extends bigint | string = bigint> = Of & { readonly [kind]: Kind };

/** Whether a record may have this id. A text is a caller's, and PostgreSQL refuses some of them. */
export const mayBe = (id: bigint | string) => typeof id === 'bigint' || /^[\w-]+$/.test(id);

/** The account that rows belong to. */
export type OwnerId = Id<'account'>;

/** Whose rows are asked for: the context of a call is one. */
export interface Owner {
  readonly caller: { readonly accountId: OwnerId };
}

/** A record's place in the order of a list: its values in the order's columns. */
export type Key = bigint | readonly (bigint | string)[];

/** Asks for a page of a list: at most `limit` rows behind `after` in its order, and before `until`. */
export interface PageRequest {
  readonly after: Key;
  readonly until?: Key | undefined;
  readonly limit: number;
  /** How many bytes the long texts of the page may have together, beyond those of its first row. */
  readonly maxBytes?: number;
}

/** It may have fewer rows than the limit, where they are large. One that `hasMore` has one row at least. */
export interface Page<T> {
  readonly rows: readonly T[];
  readonly hasMore: boolean;
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

/** An instant with the precision of protobuf's Timestamp. */
export interface Instant {
  readonly seconds: bigint;
  readonly nanos: number;
}

export function toTimestamp(ms: number): Instant;
export function toTimestamp(ms: number | undefined): Instant | undefined;
export function toTimestamp(ms: number | undefined): Instant | undefined {
  return ms === undefined ? ms : { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 };
}
