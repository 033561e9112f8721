/**
 * Whom the limits count: accounts by id, callers without a valid key by address. All of these are strings at run time;
 * their types keep an account, a key and an address apart.
 */
declare const kind: unique symbol;
type Id<Kind extends string> = string & { readonly [kind]: Kind };

export type AccountId = Id<'account'>;
/** The id of an API key, not the key itself. */
export type KeyId = Id<'key'>;
/** An IP address, or the prefix that counts as one caller. */
export type Address = Id<'address'>;

export type Subject =
  | { readonly kind: 'account'; readonly accountId: AccountId }
  | { readonly kind: 'address'; readonly address: Address };

export function toAccountId(id: bigint): AccountId {
  return String(id) as AccountId;
}

export function toKeyId(id: bigint): KeyId {
  return String(id) as KeyId;
}

export function toAddress(address: string): Address {
  return address as Address;
}

/** The subject's name in Redis keys and in the details of a 429: `account:7`, `address:192.0.2.1`. */
export function subjectName(subject: Subject): string {
  return subject.kind === 'account' ? `account:${subject.accountId}` : `address:${subject.address}`;
}
