/**
 * The API key cache. A mistyped key fails its checksum without a look-up. A known key is found in a bounded cache, by
 * its SHA-256: so the time that a look-up takes reveals nothing about any key.
 *
 * What a look-up has found is fresh for `FRESH_MS` from the beginning of the look-up: so a change by another process
 * takes effect here too, however slow the database is. `invalidate` makes everything stale at once, also what a look-up
 * in progress is about to find. Requests with one key share a look-up, and the check before it, while its result will
 * be fresh. A refusal by that check is of the request that began the look-up: those that waited make their own, all at
 * once, since one behind the other would cost the square of their number.
 *
 * A key that turns out to be invalid gets no entry, so that invalid keys can't evict valid ones.
 */
import { hash as digest } from 'node:crypto';
import { type PlanQuotas, quotaOf } from '../../config/plans.ts';
import type { Caller, Identity } from '../../rpc/caller.ts';
import type { AccessStore } from '../tables/tables.ts';
import { hashKey, isWellFormed } from './format.ts';

/** How long an entry is fresh. The contract allows 5 seconds until a change takes effect everywhere. */
const FRESH_MS = 4_000;
/** The maximum of entries. Those looked up longest ago are evicted: a key in use is looked up every few seconds. */
const MAX_ENTRIES = 10_000;

/** When a look-up began. */
interface Beginning {
  readonly freshUntilMs: number;
  /** How many changes there had been. */
  readonly version: number;
}

interface Entry extends Beginning {
  readonly caller: Caller;
  readonly expiresAtMs: number | undefined;
}

/** Rejects when a key may not be looked up. */
type Check = () => Promise<void>;

interface LookUp extends Beginning {
  readonly checked: Promise<void>;
  readonly result: Promise<Identity>;
}

export type ApiKeyCache = ReturnType<typeof createApiKeyCache>;

/** Keys expire by `nowMs`, the time of day. Entries become stale by `monotonicMs`, which never steps. */
export function createApiKeyCache(
  accounts: Pick<AccessStore['accounts'], 'findKey'>,
  plans: PlanQuotas,
  { nowMs = Date.now, monotonicMs = () => performance.now() } = {},
) {
  const entries = new Map<string, Entry>();
  /** The last look-up of each key that has one in progress. */
  const lookUps = new Map<string, LookUp>();
  let version = 0;

  const isFresh = (since: Beginning | undefined) =>
    since !== undefined && since.version === version && monotonicMs() < since.freshUntilMs;

  const toIdentity = ({ caller, expiresAtMs }: Pick<Entry, 'caller' | 'expiresAtMs'>): Identity =>
    expiresAtMs !== undefined && expiresAtMs <= nowMs() ? undefined : caller;

  const lookUp = (key: string, hash: string, check: Check | undefined): Promise<Identity> => {
    const current = lookUps.get(hash);
    if (current !== undefined && isFresh(current))
      return current.checked.then(
        () => current.result,
        () => Promise.resolve(check?.()).then(() => identify(key)),
      );
    const began = { freshUntilMs: monotonicMs() + FRESH_MS, version };
    const checked = Promise.resolve(check?.());
    const read = async (): Promise<Identity> => {
      await checked;
      const found = await accounts.findKey(hashKey(key));
      entries.delete(hash);
      if (found === undefined || found.key.revokedAtMs !== undefined) return undefined;
      const { id: accountId, plan, agreed, isSuspended } = found.account;
      const { id: keyId, permission } = found.key;
      const caller = { keyId, accountId, permission, plan, quota: quotaOf(plan, agreed, plans) };
      const entry = { ...began, caller, expiresAtMs: found.key.expiresAtMs };
      const identity = toIdentity(entry);
      if (isSuspended) return identity && 'suspended';
      entries.set(hash, entry);
      const [oldest] = entries.size > MAX_ENTRIES ? entries.keys() : [];
      if (oldest !== undefined) entries.delete(oldest);
      return identity;
    };
    const end = () => lookUps.get(hash) === started && lookUps.delete(hash);
    const started: LookUp = { ...began, checked, result: read().finally(end) };
    lookUps.set(hash, started);
    return started.result;
  };

  const identify = (key: string, beforeLookUp?: Check): Promise<Identity> | Identity => {
    const hash = digest('sha256', key); // in hexadecimal: a string is cheaper than a Buffer for each call
    const entry = entries.get(hash);
    if (entry !== undefined && isFresh(entry)) return toIdentity(entry);
    if (!isWellFormed(key)) return undefined;
    return lookUp(key, hash, entry === undefined ? beforeLookUp : undefined);
  };

  return {
    get size() {
      return entries.size;
    },
    /** Finds a key's caller. For one that has not been valid here yet calls `beforeLookUp` first, which may reject. */
    identify,
    /** Makes all entries stale: a key or an account has changed. */
    invalidate() {
      version += 1;
    },
  };
}
