/** The subjects of the limits: accounts by id, callers without a valid key by address. */
import type { AccountId } from '../model.ts';

declare const brand: unique symbol;

/** An IP address, or the prefix that counts as one caller. A string of its own type: no other can be passed for it. */
export type Address = string & { readonly [brand]: 'address' };

export type Subject =
  | { readonly kind: 'account'; readonly accountId: AccountId }
  | { readonly kind: 'address'; readonly address: Address };

export function toAddress(address: string): Address {
  return address as Address;
}

/** The subject's name in Redis keys and in the details of a 429: `account:7`, `address:192.0.2.1`. */
export function subjectName(subject: Subject): string {
  return subject.kind === 'account' ? `account:${subject.accountId}` : `address:${subject.address}`;
}
