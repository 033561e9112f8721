/**
 * Stores the day's counts and the bans, and restores them when the server starts. It takes them from the limiter every
 * half second, so that no request pays for a write: a crash loses the last half second at most, a clean stop loses
 * nothing. When keys were last used is stored every half minute, for the operator.
 *
 * Failure: rows that could not be stored are stored the next time, with whatever was added since; the limits go on.
 * Rows of an account or a key that is gone, as after a restore, are dropped.
 */
import type { Logger } from 'pino';
import type { DeletePortion } from '../../process/retention.ts';
import type { KeyId } from '../../rpc/caller.ts';
import type { Ban } from '../tables/bans.ts';
import type { AccessStore, AccessTransaction } from '../tables/tables.ts';
import type { DayUsage, KeyUse } from '../tables/usage.ts';
import type { Limiter } from './limiter.ts';
import { dayIndexAt } from './windows.ts';

const FLUSH_INTERVAL_MS = 500;
const KEY_USES_INTERVAL_MS = 30_000;
/** The maximum of rows in one statement, which then takes a few milliseconds: other writes may wait for it. */
const MAX_ROWS = 250;

export type LimitsRecorder = ReturnType<typeof createLimitsRecorder>;

/** Restores the bans in force, and today's counts with those of the days beside: the clock may be wrong by a day. */
export async function restoreLimits(store: AccessStore, limiter: Limiter): Promise<void> {
  const nowMs = await limiter.now();
  const today = dayIndexAt(nowMs);
  for (const day of [today - 1, today + 1, today]) limiter.restoreUsage(await store.usage.ofDay(day));
  limiter.restoreBans(await store.bans.inForce(nowMs));
}

export function createLimitsRecorder(store: AccessStore, limiter: Pick<Limiter, 'drain'>, logger: Logger) {
  const unsavedUsage = new Map<string, DayUsage>();
  const unsavedBans = new Map<KeyId, Ban>();
  const unsavedKeyUses = new Map<KeyId, KeyUse>();

  /** Stores rows in portions, and removes each from `unsaved` unless it has changed meanwhile. */
  const saveAll = async <Key, Row>(
    unsaved: Map<Key, Row>,
    put: (tx: AccessTransaction, rows: readonly Row[]) => Promise<number>,
  ): Promise<void> => {
    const all = [...unsaved];
    for (let start = 0; start < all.length; start += MAX_ROWS) {
      const portion = all.slice(start, start + MAX_ROWS);
      const rows = portion.map(([, row]) => row);
      const dropped = rows.length - (await store.write((tx) => put(tx, rows)));
      if (dropped > 0) logger.warn({ dropped }, 'usage and bans of accounts and keys that are gone are dropped');
      for (const [key, row] of portion) if (unsaved.get(key) === row) unsaved.delete(key);
    }
  };

  let keyUsesDueMs = performance.now() + KEY_USES_INTERVAL_MS;
  const save = async (): Promise<void> => {
    const { usage: rows, keyUses } = limiter.drain();
    for (const row of rows) unsavedUsage.set(`${row.accountId} ${row.dayIndex}`, row);
    for (const use of keyUses) unsavedKeyUses.set(use.keyId, use);
    await saveAll(unsavedBans, ({ bans }, rows) => bans.put(rows));
    await saveAll(unsavedUsage, ({ usage }, rows) => usage.put(rows));
    if (performance.now() < keyUsesDueMs) return;
    keyUsesDueMs = performance.now() + KEY_USES_INTERVAL_MS;
    await saveAll(unsavedKeyUses, ({ usage }, rows) => usage.putKeyUses(rows));
  };

  let last: Promise<unknown> = Promise.resolve();
  let waiting: Promise<void> | undefined;
  const flush = (): Promise<void> => {
    waiting ??= last.then(() => {
      waiting = undefined;
      return save();
    });
    last = waiting.catch(() => undefined);
    return waiting;
  };
  const flushAll = (): Promise<void> => {
    keyUsesDueMs = 0;
    return flush();
  };

  let isFailing = false;
  const onFailure = (error: unknown) => {
    if (!isFailing) logger.error({ err: error }, 'usage is not stored yet: trying again');
    isFailing = true;
  };
  const flushAndLog = () => void flush().then(() => (isFailing = false), onFailure);

  const timer = setInterval(flushAndLog, FLUSH_INTERVAL_MS);
  return {
    /** Stores everything that is not stored yet. At most one flush runs, and one waits for all who ask meanwhile. */
    flush: flushAll,
    /** Stores a ban that the limiter has begun. Never waits or throws. */
    recordBan(ban: Ban): void {
      unsavedBans.set(ban.keyId, ban);
      flushAndLog();
    },
    /** How many counts and bans are not stored yet. */
    get backlog() {
      return unsavedUsage.size + unsavedBans.size;
    },
    /** Stops the timer and stores the rest. Never rejects. */
    async close(): Promise<void> {
      clearInterval(timer);
      await flushAll().catch((error: unknown) => logger.error({ err: error }, 'the last usage is not stored'));
    },
  };
}

export function deleteOldUsage(store: AccessStore, days: number): DeletePortion {
  return (maxRows, nowMs) => store.write(({ usage }) => usage.deleteBefore(dayIndexAt(nowMs) - days, maxRows));
}
