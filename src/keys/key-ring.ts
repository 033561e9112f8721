/**
 * Knows whose a key is. A mistyped key fails its checksum without a look-up; a known one is found in a bounded
 * cache, by its SHA-256, without touching the database. No key is kept, only hashes are; and as it is hashes
 * that are looked up, how long a look-up takes says nothing of any key.
 *
 * An entry is looked up anew after `FRESH_MS`, so that a key revoked, an account suspended or a plan changed by
 * another process is noticed here too; `forget` makes this process notice at once. An entry that is no longer fresh
 * stays: it says that the key was valid, so that the look-up is worth its price whoever asks. Only for a key that was
 * never seen the limits of the caller's address are asked first.
 */
import type { KeyRing } from '../interceptors/authentication.ts';
import type { Caller } from '../interceptors/chain.ts';
import type { Account, ApiKey } from '../model.ts';
import type { AccountReader } from '../storage/accounts.ts';
import { hashKey, isWellFormed } from './format.ts';
import { type PlanQuotas, quotaOf } from './plans.ts';

/** How long a cached key is believed. The contract allows 5 seconds until a change is known everywhere. */
const FRESH_MS = 4_000;
/** Keys in the cache at the most; the ones that came in first make room. */
const MAX_CACHED = 10_000;

interface Cached {
  readonly caller: Caller;
  readonly expiresAtMs: number | undefined;
  /** Until when it is believed; not beyond the next `forget`. */
  readonly staleAtMs: number;
  /** How often all had been forgotten when its look-up began. */
  readonly generation: number;
}

export interface CachingKeyRing extends KeyRing {
  /** Believes nothing that was looked up before: a key or an account has changed. */
  forget(): void;
}

export function createKeyRing(
  accounts: Pick<AccountReader, 'findKey'>,
  plans: PlanQuotas,
  nowMs: () => number = Date.now,
): CachingKeyRing {
  const cache = new Map<string, Cached>();
  let generation = 0;

  const isFresh = (cached: Cached) => cached.generation === generation && nowMs() < cached.staleAtMs;
  const isExpired = (expiresAtMs: number | undefined) => expiresAtMs !== undefined && expiresAtMs <= nowMs();

  const lookUp = async (hash: Buffer, id: string): Promise<Caller | undefined> => {
    const begunIn = generation; // what is found is not believed after a `forget` that comes while it is looked for
    const found = await accounts.findKey(hash);
    cache.delete(id);
    if (found === undefined || !isUsable(found)) return undefined;
    const { key, account } = found;
    const caller = { keyId: key.id, accountId: account.id, quota: quotaOf(account.plan, account.agreed, plans) };
    cache.set(id, { caller, expiresAtMs: key.expiresAtMs, staleAtMs: nowMs() + FRESH_MS, generation: begunIn });
    shrink(cache);
    return isExpired(key.expiresAtMs) ? undefined : caller;
  };

  return {
    identify(key, beforeLookUp) {
      if (!isWellFormed(key)) return undefined;
      const hash = hashKey(key);
      const id = hash.toString('latin1');
      const cached = cache.get(id);
      if (cached === undefined) return beforeLookUp().then(() => lookUp(hash, id));
      if (!isFresh(cached)) return lookUp(hash, id);
      return isExpired(cached.expiresAtMs) ? undefined : cached.caller;
    },
    forget() {
      generation += 1;
    },
  };
}

function isUsable({ key, account }: { readonly key: ApiKey; readonly account: Account }): boolean {
  return key.revokedAtMs === undefined && !account.isSuspended;
}

function shrink(cache: Map<string, Cached>): void {
  for (const oldest of cache.keys()) {
    if (cache.size <= MAX_CACHED) return;
    cache.delete(oldest);
  }
}
