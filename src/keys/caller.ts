/** The caller of a request, and how its key identifies it. */
import type { AccountId, KeyId, Plan, Quota } from '../model.ts';

/** An authenticated caller. */
export interface Caller {
  readonly keyId: KeyId;
  readonly accountId: AccountId;
  readonly plan: Plan;
  /** The quota in force. */
  readonly quota: Quota;
}

/** The caller if the key is valid; `suspended` if the key is valid but its account is suspended; else undefined. */
export type Identity = Caller | 'suspended' | undefined;

export interface ApiKeys {
  /**
   * Finds the caller that a key belongs to. Concurrent requests with one key share a look-up. For a key that has not
   * been valid here before, calls `beforeLookUp` first, and looks nothing up if that rejects.
   */
  identify(key: string, beforeLookUp?: () => Promise<void>): Promise<Identity> | Identity;
}
