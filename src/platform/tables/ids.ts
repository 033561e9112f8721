/** The ids of records, and the account that a record belongs to. */

declare const kind: unique symbol;

/** An id that can't be passed where the id of something else is expected. A text has letters, digits, "-" and "_". */
export type Id<Kind extends string, Of extends bigint | string = bigint> = Of & { readonly [kind]: Kind };

/** Whether a record may have this id. It is a caller's, and PostgreSQL refuses some texts, and what is no int64. */
export const mayBe = (id: bigint | string) =>
  typeof id === 'bigint' ? BigInt.asIntN(64, id) === id : /^[\w-]+$/.test(id);

export type OwnerId = Id<'account'>;

/** Whose rows are asked for: the context of a call is one. */
export interface Owner {
  readonly caller: { readonly accountId: OwnerId };
}
