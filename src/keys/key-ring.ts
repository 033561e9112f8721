/**
 * Knows whose a key is. A mistyped key fails its checksum without a look-up; a known one is found in a bounded
 * cache, by its SHA-256, without touching the database. No key is kept: only hashes are.
 *
 * An entry is looked up anew after `FRESH_MS`, so that a key revoked by another process stops working here too.
 */

import type { KeyRing } from '../interceptors/authentication.ts';
import type { Caller } from '../interceptors/chain.ts';
import type { ApiKey, ApiKeyReader } from '../storage/api-keys.ts';
import { hashKey, isWellFormed } from './format.ts';

/** How long a cached key is believed. The contract allows 5 seconds until a revocation is known everywhere. */
const FRESH_MS = 4_000;
/** Keys in the cache at the most; the ones that came in first make room. */
const MAX_CACHED = 10_000;

interface Cached {
  readonly key: ApiKey;
  readonly staleAtMs: number;
}

export function createKeyRing(keys: ApiKeyReader, nowMs: () => number = Date.now): KeyRing {
  const cache = new Map<string, Cached>();

  const lookUp = async (hash: Buffer, id: string): Promise<Caller | undefined> => {
    const key = await keys.findByHash(hash);
    cache.delete(id);
    if (key === undefined) return undefined;
    cache.set(id, { key, staleAtMs: nowMs() + FRESH_MS });
    for (const oldest of cache.keys()) {
      if (cache.size <= MAX_CACHED) break;
      cache.delete(oldest);
    }
    return toCaller(key, nowMs());
  };

  return {
    identify(key) {
      if (!isWellFormed(key)) return undefined;
      const hash = hashKey(key);
      const id = hash.toString('latin1');
      const cached = cache.get(id);
      const now = nowMs();
      return cached !== undefined && now < cached.staleAtMs ? toCaller(cached.key, now) : lookUp(hash, id);
    },
  };
}

function toCaller(key: ApiKey, nowMs: number): Caller | undefined {
  const isExpired = key.expiresAtMs !== undefined && key.expiresAtMs <= nowMs;
  return key.isRevoked || key.isSuspended || isExpired ? undefined : { keyId: key.id, accountId: key.accountId };
}
