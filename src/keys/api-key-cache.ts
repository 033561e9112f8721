/**
 * The API key cache. A mistyped key fails its checksum without a look-up. A known key is found by its SHA-256 in a
 * bounded cache, without the database. Only hashes are kept and looked up, so the time that a look-up takes reveals
 * nothing about any key.
 *
 * An entry is fresh for `FRESH_MS`, counted from before its look-up began: so a key revoked, an account suspended or a
 * plan changed by another process takes effect here too, however slow the database is. `invalidate` makes the entries
 * that a change affects stale at once. Concurrent requests with one key share a look-up, unless it began too early for
 * one of them: those share the next, which begins when the current one ends.
 *
 * A stale entry is kept: its key was valid, so a new look-up needs no check of the caller's limits. For a key without
 * an entry the limits of the caller's address are checked first. A key that turns out to be invalid gets no entry, so
 * that invalid keys can't evict valid ones.
 */

import type { Store } from '../storage/store.ts';
import type { ApiKeys, Caller, Identity } from './caller.ts';
import { hashKey, isWellFormed } from './format.ts';
import { type PlanQuotas, quotaOf } from './plans.ts';

/** How long an entry is fresh. The contract allows 5 seconds until a change takes effect everywhere. */
const FRESH_MS = 4_000;
/** The maximum of entries. Those looked up longest ago are evicted: a key in use is looked up every few seconds. */
const MAX_ENTRIES = 10_000;

/** What has changed: one key; an account, and so all of its keys; or anything. */
export type KeyChange = { readonly kind: 'key' | 'account'; readonly id: bigint } | { readonly kind: 'any' };

export interface ApiKeyCache extends ApiKeys {
  /** Keys in the cache. */
  readonly size: number;
  /** How many requests were answered from the cache, and how many waited for the database. */
  readonly hits: number;
  readonly misses: number;
  /** Makes the entries of all keys that a change affects stale. */
  invalidate(change: KeyChange): void;
}

interface Clock {
  /** The time of day: keys expire by it. */
  readonly nowMs: () => number;
  /** Never steps: entries become stale by it. */
  readonly monotonicMs: () => number;
}

const SYSTEM: Clock = { nowMs: Date.now, monotonicMs: () => performance.now() };

interface Entry {
  readonly caller: Caller;
  readonly expiresAtMs: number | undefined;
  freshUntilMs: number;
}

interface LookUp {
  readonly result: Promise<Identity>;
  /** Until when requests can join it and its entry is fresh; undefined while it waits for the previous look-up. */
  freshUntilMs: number | undefined;
  /** Changes since it began: it may have read the state before them. */
  readonly changes: KeyChange[];
}

const STALE = Number.NEGATIVE_INFINITY;

export function createApiKeyCache(
  accounts: Pick<Store['accounts'], 'findKey'>,
  plans: PlanQuotas,
  { nowMs, monotonicMs }: Clock = SYSTEM,
): ApiKeyCache {
  const entries = new Map<string, Entry>();
  /** The last look-up of each key that has one in progress. */
  const lookUps = new Map<string, LookUp>();
  /**
   * For each key without an entry, the check in progress whether it may be looked up. Requests with the key share it.
   */
  const checks = new Map<string, Promise<void>>();
  let [hits, misses] = [0, 0];

  const toIdentity = ({ caller, expiresAtMs }: Entry): Identity =>
    expiresAtMs !== undefined && expiresAtMs <= nowMs() ? undefined : caller;

  const find = (hash: string): Promise<Identity> | Identity => {
    const entry = entries.get(hash);
    if (entry !== undefined && monotonicMs() < entry.freshUntilMs) {
      hits += 1;
      return toIdentity(entry);
    }
    misses += 1;
    const current = lookUps.get(hash);
    return current !== undefined && canJoin(current) ? current.result : lookUp(hash, current).result;
  };

  const canJoin = ({ freshUntilMs, changes }: LookUp): boolean =>
    freshUntilMs === undefined || (changes.length === 0 && monotonicMs() < freshUntilMs);

  /** Starts a look-up, which begins when the previous one has ended. */
  const lookUp = (hash: string, previous: LookUp | undefined): LookUp => {
    const { promise: result, resolve, reject } = Promise.withResolvers<Identity>();
    const started: LookUp = { result, freshUntilMs: undefined, changes: [] };
    lookUps.set(hash, started);
    const begin = () => {
      started.freshUntilMs = monotonicMs() + FRESH_MS;
      read(hash, started).then(resolve, reject);
    };
    if (previous === undefined) begin();
    else previous.result.then(begin, begin);
    return started;
  };

  const read = async (hash: string, own: LookUp): Promise<Identity> => {
    try {
      const found = await accounts.findKey(Buffer.from(hash, 'hex'));
      entries.delete(hash);
      if (found === undefined || found.key.revokedAtMs !== undefined) return undefined;
      const { key, account } = found;
      const { plan, agreed } = account;
      const caller = { keyId: key.id, accountId: account.id, plan, quota: quotaOf(plan, agreed, plans) };
      const isStale = lookUps.get(hash) !== own || own.changes.some((change) => affects(change, caller));
      const freshUntilMs = isStale ? STALE : (own.freshUntilMs ?? STALE);
      const entry: Entry = { caller, expiresAtMs: key.expiresAtMs, freshUntilMs };
      const identity = toIdentity(entry);
      if (account.isSuspended) return identity && 'suspended';
      entries.set(hash, entry);
      evictOldest(entries);
      return identity;
    } finally {
      if (lookUps.get(hash) === own) lookUps.delete(hash);
    }
  };

  return {
    get size() {
      return entries.size;
    },
    get hits() {
      return hits;
    },
    get misses() {
      return misses;
    },
    identify(key, beforeLookUp) {
      if (!isWellFormed(key)) return undefined;
      const hash = hashKey(key, 'hex'); // a string is cheaper than a Buffer for each call
      if (entries.has(hash) || lookUps.has(hash)) return find(hash);
      const current = checks.get(hash);
      if (current !== undefined) {
        return current.then(
          () => find(hash),
          () => beforeLookUp().then(() => find(hash)),
        );
      }
      const check = beforeLookUp();
      checks.set(hash, check);
      const remove = () => checks.delete(hash);
      check.then(remove, remove);
      return check.then(() => find(hash));
    },
    invalidate(change) {
      for (const entry of entries.values()) if (affects(change, entry.caller)) entry.freshUntilMs = STALE;
      for (const { freshUntilMs, changes } of lookUps.values()) if (freshUntilMs !== undefined) changes.push(change);
    },
  };
}

function affects(change: KeyChange, { keyId, accountId }: Caller): boolean {
  return change.kind === 'any' || change.id === (change.kind === 'key' ? keyId : accountId);
}

function evictOldest(entries: Map<string, Entry>): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= MAX_ENTRIES) return;
    entries.delete(oldest);
  }
}
