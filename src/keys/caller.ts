/** Who calls, and whoever knows it of a key. */
import type { Plan, Quota } from '../model.ts';

/** Who is calling, as authentication found out. */
export interface Caller {
  readonly keyId: bigint;
  readonly accountId: bigint;
  readonly plan: Plan;
  /** What the account may use. */
  readonly quota: Quota;
}

/** The caller of a key that is valid now; `suspended`, if only its account is; undefined for any other string. */
export type Identity = Caller | 'suspended' | undefined;

/** Knows whose a key is. */
export interface ApiKeys {
  /**
   * A key that was never seen to be valid costs a look-up, so `beforeLookUp` is asked first: when it rejects, nothing is
   * looked up. Requests with a key whose look-up is on its way share that one.
   */
  identify(key: string, beforeLookUp: () => Promise<void>): Promise<Identity> | Identity;
}
