/** Who makes a call. */
import type { Plan, Quota } from '../config/plans.ts';
import type { Id } from '../tables/ids.ts';

export type AccountId = Id<'account'>;
export type KeyId = Id<'key'>;
export const toAccountId = (id: bigint) => id as AccountId;
export const toKeyId = (id: bigint) => id as KeyId;

/** What a key allows: `read` what changes nothing, `write` everything. */
export const PERMISSIONS = ['read', 'write'] as const;
export type Permission = (typeof PERMISSIONS)[number];

export interface Caller {
  readonly keyId: KeyId;
  readonly accountId: AccountId;
  readonly permission: Permission;
  readonly plan: Plan;
  readonly quota: Quota;
}

/** The caller if the key is valid; `suspended` if the key is valid but its account is suspended; else undefined. */
export type Identity = Caller | 'suspended' | undefined;
