/**
 * The API key cache. A mistyped key fails its checksum without a look-up; a known one is found in a bounded cache, by
 * its SHA-256, without touching the database. No key is kept, only hashes are; and as it is hashes that are looked
 * up, how long a look-up takes says nothing of any key.
 *
 * A look-up is believed for `FRESH_MS`, counted from before it reads: so a key revoked, an account suspended or a plan
 * changed by another process is noticed here too, however slow the database is. A change that this process is told of
 * ends the belief at once, for the keys that it concerns. All who need a key looked up at the same time share one
 * look-up, unless it began too early for the one who comes: then they share the next, which begins when that one ends.
 *
 * An entry that is no longer fresh stays: it says that the key was valid, so that the look-up is worth its price
 * whoever asks. Only for a key that was never seen the limits of the caller's address are asked first. A look-up that
 * finds no valid key takes no place in the cache, so keys that nobody has can't drive out others.
 */

import type { AccountReader } from '../storage/accounts.ts';
import type { ApiKeys, Caller, Identity } from './caller.ts';
import { hashKey, isWellFormed } from './format.ts';
import { type PlanQuotas, quotaOf } from './plans.ts';

/** How long a look-up is believed. The contract allows 5 seconds until a change is known everywhere. */
const FRESH_MS = 4_000;
/** Keys in the cache at the most. Those looked up longest ago make room: a key in use is looked up every few seconds. */
const MAX_CACHED = 10_000;

/** What has changed: one key, an account and so all of its keys, or nobody knows what. */
export type KeyChange = { readonly kind: 'key' | 'account'; readonly id: bigint } | { readonly kind: 'any' };

export interface ApiKeyCache extends ApiKeys {
  /** Keys in the cache. */
  readonly size: number;
  /** How many look-ups were answered from it, and how many waited for the database. */
  readonly hits: number;
  readonly misses: number;
  /** Believes nothing that was read before of the keys that a change concerns. */
  invalidate(change: KeyChange): void;
}

interface Clock {
  /** The time of day, by which keys expire. */
  readonly nowMs: () => number;
  /** Never set and never back: what counts for how long something is believed. */
  readonly monotonicMs: () => number;
}

const SYSTEM: Clock = { nowMs: Date.now, monotonicMs: () => performance.now() };

interface Cached {
  readonly caller: Caller;
  readonly expiresAtMs: number | undefined;
  freshUntilMs: number;
}

interface LookUp {
  readonly answer: Promise<Identity>;
  /** Until when it can be joined, and what it finds is believed; undefined while the one before it is under way. */
  freshUntilMs: number | undefined;
  /** Changes since it began. It may have read what was there before them. */
  readonly missed: KeyChange[];
}

const NEVER = Number.NEGATIVE_INFINITY;

export function createApiKeyCache(
  accounts: Pick<AccountReader, 'findKey'>,
  plans: PlanQuotas,
  { nowMs, monotonicMs }: Clock = SYSTEM,
): ApiKeyCache {
  const cache = new Map<string, Cached>();
  /** The last look-up of each key, while it is not done. */
  const underWay = new Map<string, LookUp>();

  /** Whether each key may be looked up, while that is asked: one answer is enough for all who show the key meanwhile. */
  const asked = new Map<string, Promise<void>>();

  const toIdentity = ({ caller, expiresAtMs }: Cached): Identity =>
    expiresAtMs !== undefined && expiresAtMs <= nowMs() ? undefined : caller;

  let [hits, misses] = [0, 0];

  const find = (id: string): Promise<Identity> | Identity => {
    const cached = cache.get(id);
    if (cached !== undefined && monotonicMs() < cached.freshUntilMs) {
      hits += 1;
      return toIdentity(cached);
    }
    misses += 1;
    const current = underWay.get(id);
    return current !== undefined && canJoin(current) ? current.answer : lookUp(id, current).answer;
  };

  const canJoin = ({ freshUntilMs, missed }: LookUp): boolean =>
    freshUntilMs === undefined || (missed.length === 0 && monotonicMs() < freshUntilMs);

  const lookUp = (id: string, previous: LookUp | undefined): LookUp => {
    const { promise: answer, resolve, reject } = Promise.withResolvers<Identity>();
    const started: LookUp = { answer, freshUntilMs: undefined, missed: [] };
    underWay.set(id, started);
    const begin = () => {
      started.freshUntilMs = monotonicMs() + FRESH_MS;
      read(id, started).then(resolve, reject);
    };
    if (previous === undefined) begin();
    else previous.answer.then(begin, begin);
    return started;
  };

  const read = async (id: string, own: LookUp): Promise<Identity> => {
    try {
      const found = await accounts.findKey(Buffer.from(id, 'hex'));
      cache.delete(id);
      if (found === undefined || found.key.revokedAtMs !== undefined) return undefined;
      const { key, account } = found;
      const { plan, agreed } = account;
      const caller = { keyId: key.id, accountId: account.id, plan, quota: quotaOf(plan, agreed, plans) };
      const isOutdated = underWay.get(id) !== own || own.missed.some((change) => concerns(change, caller));
      const cached = {
        caller,
        expiresAtMs: key.expiresAtMs,
        freshUntilMs: isOutdated ? NEVER : (own.freshUntilMs ?? NEVER),
      };
      const identity = toIdentity(cached);
      if (account.isSuspended) return identity && 'suspended';
      cache.set(id, cached);
      shrink(cache);
      return identity;
    } finally {
      if (underWay.get(id) === own) underWay.delete(id);
    }
  };

  return {
    get size() {
      return cache.size;
    },
    get hits() {
      return hits;
    },
    get misses() {
      return misses;
    },
    identify(key, beforeLookUp) {
      if (!isWellFormed(key)) return undefined;
      const id = hashKey(key, 'hex'); // text: a Buffer of its own for each call is dear
      if (cache.has(id) || underWay.has(id)) return find(id);
      const other = asked.get(id);
      if (other !== undefined) {
        return other.then(
          () => find(id),
          () => beforeLookUp().then(() => find(id)),
        );
      }
      const own = beforeLookUp();
      asked.set(id, own);
      const forget = () => asked.delete(id);
      own.then(forget, forget);
      return own.then(() => find(id));
    },
    invalidate(change) {
      for (const cached of cache.values()) if (concerns(change, cached.caller)) cached.freshUntilMs = NEVER;
      for (const { freshUntilMs, missed } of underWay.values()) if (freshUntilMs !== undefined) missed.push(change);
    },
  };
}

function concerns(change: KeyChange, { keyId, accountId }: Caller): boolean {
  return change.kind === 'any' || change.id === (change.kind === 'key' ? keyId : accountId);
}

function shrink(cache: Map<string, Cached>): void {
  for (const oldest of cache.keys()) {
    if (cache.size <= MAX_CACHED) return;
    cache.delete(oldest);
  }
}
