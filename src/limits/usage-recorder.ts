/**
 * Keeps what the limits must not forget: the day's counts and the bans. It takes them from the limiter every half
 * second and stores them, so that no request pays for a write, a crash loses the last second at the most, and a
 * clean stop loses nothing; and gives them back to the limiter at the next start. When keys were last used is for the
 * operator alone, and is stored every half minute.
 *
 * Rows are stored many at a time, in one statement that is a transaction by itself. Where there is one writer, as on
 * SQLite, other writes take turns with these statements, so they wait for a portion and not for all accounts.
 *
 * Failure: rows that could not be stored are stored the next time, with whatever came since; the limits go on.
 */
import type { Logger } from 'pino';
import { type Retention, startRetention } from '../storage/retention.ts';
import type { Store, Transaction } from '../storage/store.ts';
import type { ManagedLimiter, NewBan, UsageRow } from './limiter.ts';
import { dayIndexAt } from './windows.ts';

const FLUSH_INTERVAL_MS = 500;
const KEY_USES_INTERVAL_MS = 30_000;
/** Rows in one statement at the most: a few milliseconds. */
const MAX_ROWS = 250;

export interface UsageRecorder {
  /** Stores what this limiter counts, from now on. */
  start(limiter: ManagedLimiter): void;
  /** Stores at once what has not been stored yet. */
  flush(): Promise<void>;
  /** Stores a ban; the limiter knows it already. */
  recordBan(ban: NewBan): void;
  /** Counts and bans that are not stored yet. */
  readonly backlog: number;
  /** Stops storing by itself, and stores the rest. */
  close(): Promise<void>;
}

/** Gives the limiter today's counts and the bans in force, as they were stored. */
export async function restoreLimits(store: Store, limiter: ManagedLimiter, nowMs: number): Promise<void> {
  const usage = await store.usage.ofDay(dayIndexAt(nowMs));
  limiter.restoreUsage(usage.map(({ accountId, ...day }) => ({ subject: String(accountId), ...day })));
  const bans = await store.bans.inForce(nowMs);
  limiter.restoreBans(bans.map(({ keyId, untilMs }) => ({ key: String(keyId), untilMs })));
}

/** Takes bans at once, so a limiter can be given `recordBan` when it is made; all else once it has started. */
export function createUsageRecorder(store: Store, logger: Logger): UsageRecorder {
  let source: Pick<ManagedLimiter, 'drainUsage' | 'drainKeyUses'> | undefined;
  const unsavedUsage = new Map<string, UsageRow>();
  const unsavedBans = new Map<string, NewBan>();
  const unsavedKeyUses = new Map<string, number>();
  let flushing: Promise<void> = Promise.resolve();

  /** Stores portion by portion. What is stored is forgotten, unless it has changed meanwhile. */
  const saveAll = async <T>(
    unsaved: Map<string, T>,
    put: (tx: Transaction, rows: readonly (readonly [string, T])[]) => Promise<void>,
  ): Promise<void> => {
    const all = [...unsaved];
    for (let start = 0; start < all.length; start += MAX_ROWS) {
      const portion = all.slice(start, start + MAX_ROWS);
      await store.write((tx) => put(tx, portion));
      for (const [name, row] of portion) if (unsaved.get(name) === row) unsaved.delete(name);
    }
  };

  const saveCounts = async (): Promise<void> => {
    for (const row of source?.drainUsage() ?? []) unsavedUsage.set(`${row.subject} ${row.dayIndex}`, row);
    await saveAll(unsavedBans, ({ bans }, rows) =>
      bans.put(rows.map(([, { key, untilMs, ...cause }]) => ({ keyId: BigInt(key), untilMs, cause }))),
    );
    await saveAll(unsavedUsage, ({ usage }, rows) =>
      usage.put(rows.map(([, { subject, ...day }]) => ({ accountId: BigInt(subject), ...day }))),
    );
  };

  const saveEverything = async (): Promise<void> => {
    await saveCounts();
    for (const { key, atMs } of source?.drainKeyUses() ?? []) unsavedKeyUses.set(key, atMs);
    await saveAll(unsavedKeyUses, ({ usage }, rows) =>
      usage.putKeyUses(rows.map(([key, lastUsedAtMs]) => ({ keyId: BigInt(key), lastUsedAtMs }))),
    );
  };

  /** One after the other: whoever flushes has all that was counted before stored when it resolves. */
  const flush = (save = saveEverything): Promise<void> => {
    flushing = flushing.catch(() => undefined).then(save);
    return flushing;
  };

  let isFailing = false;
  const noteStored = () => {
    isFailing = false;
  };
  const noteFailure = (error: unknown) => {
    if (!isFailing) logger.error({ err: error }, 'usage is not stored yet: trying again');
    isFailing = true;
  };
  const flushAndLog = (save = saveEverything) => void flush(save).then(noteStored, noteFailure);

  const timers: NodeJS.Timeout[] = [];
  return {
    start(limiter) {
      source = limiter;
      timers.push(setInterval(() => flushAndLog(saveCounts), FLUSH_INTERVAL_MS));
      timers.push(setInterval(() => flushAndLog(), KEY_USES_INTERVAL_MS));
    },
    flush: () => flush(),
    recordBan(ban) {
      unsavedBans.set(ban.key, ban);
      flushAndLog(saveCounts);
    },
    get backlog() {
      return unsavedUsage.size + unsavedBans.size;
    },
    async close() {
      for (const timer of timers) clearInterval(timer);
      await flush().catch((error: unknown) => logger.error({ err: error }, 'the last usage is not stored'));
    },
  };
}

export interface UsageRetentionOptions {
  readonly store: Store;
  /** How many days before today are kept. */
  readonly days: number;
  readonly logger: Logger;
  readonly nowMs?: () => number;
}

/** Deletes usage that is older than `days`, at start and every hour. */
export function startUsageRetention({ store, days, logger, nowMs = Date.now }: UsageRetentionOptions): Retention {
  return startRetention({
    what: 'usage',
    deletePortion: (maxRows) => store.write(({ usage }) => usage.deleteBefore(dayIndexAt(nowMs()) - days, maxRows)),
    logger,
  });
}
