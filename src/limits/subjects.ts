/** The subjects of the limits: accounts by id, callers without a valid key by address. */
import type { AccountId } from '../model.ts';

export type Subject =
  | { readonly kind: 'account'; readonly accountId: AccountId }
  /** An IP address, or the prefix that counts as one caller. */
  | { readonly kind: 'address'; readonly address: string };

/** The subject's name in Redis keys and in the details of a 429: `account:7`, `address:192.0.2.1`. */
export function subjectName(subject: Subject): string {
  return subject.kind === 'account' ? `account:${subject.accountId}` : `address:${subject.address}`;
}
