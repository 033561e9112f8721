/**
 * Stores the day's counts and the bans, and restores them when the server starts. It takes them from the limiter every
 * half second, so that no request pays for a write: a crash loses the last half second at most, a clean stop loses
 * nothing. When keys were last used is stored every half minute, for the operator.
 *
 * One statement, which is a transaction by itself, stores many rows but not all. Where there is one writer, as on
 * SQLite, other writes take turns with these statements, so they wait for one statement and not for all accounts.
 *
 * Failure: rows that could not be stored are stored the next time, with whatever was added since; the limits go on.
 */
import type { Logger } from 'pino';
import type { DayUsage, KeyId } from '../model.ts';
import { type Retention, startRetention } from '../storage/retention.ts';
import type { Store, Transaction } from '../storage/store.ts';
import type { ManagedLimiter, NewBan } from './limiter.ts';
import { dayIndexAt } from './windows.ts';

const FLUSH_INTERVAL_MS = 500;
const KEY_USES_INTERVAL_MS = 30_000;
/** The maximum of rows in one statement, which then takes a few milliseconds. */
const MAX_ROWS = 250;

/** What the recorder reads of a limiter. */
export type UsageSource = Pick<ManagedLimiter, 'drainUsage' | 'drainKeyUses'>;

export interface UsageRecorder {
  /** Begins to store what this limiter counts. */
  start(source: UsageSource): void;
  /** Stores everything that is not stored yet. */
  flush(): Promise<void>;
  /** Stores a ban that the limiter has begun. Never waits or throws. */
  recordBan(ban: NewBan): void;
  /** How many counts and bans are not stored yet. */
  readonly backlog: number;
  /** Stops the timers and stores the rest. Never rejects. */
  close(): Promise<void>;
}

/** Restores today's counts and the bans in force from the store. */
export async function restoreLimits(store: Store, limiter: ManagedLimiter, nowMs: number): Promise<void> {
  limiter.restoreUsage(await store.usage.ofDay(dayIndexAt(nowMs)));
  limiter.restoreBans(await store.bans.inForce(nowMs));
}

/** `recordBan` works before `start`, so that a limiter can be created with it. */
export function createUsageRecorder(store: Store, logger: Logger): UsageRecorder {
  let source: UsageSource | undefined;
  /** By account and day. */
  const unsavedUsage = new Map<string, DayUsage>();
  const unsavedBans = new Map<KeyId, NewBan>();
  const unsavedKeyUses = new Map<KeyId, number>();
  let flushing: Promise<void> = Promise.resolve();

  /** Stores rows in portions, and removes each from `unsaved` unless it has changed meanwhile. */
  const saveAll = async <Key, Row>(
    unsaved: Map<Key, Row>,
    put: (tx: Transaction, rows: readonly (readonly [Key, Row])[]) => Promise<void>,
  ): Promise<void> => {
    const all = [...unsaved];
    for (let start = 0; start < all.length; start += MAX_ROWS) {
      const portion = all.slice(start, start + MAX_ROWS);
      await store.write((tx) => put(tx, portion));
      for (const [key, row] of portion) if (unsaved.get(key) === row) unsaved.delete(key);
    }
  };

  const saveCounts = async (): Promise<void> => {
    for (const row of source?.drainUsage() ?? []) unsavedUsage.set(`${row.accountId} ${row.dayIndex}`, row);
    await saveAll(unsavedBans, ({ bans }, rows) =>
      bans.put(rows.map(([, { keyId, untilMs, ...cause }]) => ({ keyId, untilMs, cause }))),
    );
    await saveAll(unsavedUsage, ({ usage }, rows) => usage.put(rows.map(([, row]) => row)));
  };

  const saveEverything = async (): Promise<void> => {
    await saveCounts();
    for (const { keyId, atMs } of source?.drainKeyUses() ?? []) unsavedKeyUses.set(keyId, atMs);
    await saveAll(unsavedKeyUses, ({ usage }, rows) =>
      usage.putKeyUses(rows.map(([keyId, lastUsedAtMs]) => ({ keyId, lastUsedAtMs }))),
    );
  };

  /** Flushes run one after the other. When one resolves, all that was counted before its call is stored. */
  const flush = (save = saveEverything): Promise<void> => {
    flushing = flushing.catch(() => undefined).then(save);
    return flushing;
  };

  let isFailing = false;
  const onStored = () => {
    isFailing = false;
  };
  const onFailure = (error: unknown) => {
    if (!isFailing) logger.error({ err: error }, 'usage is not stored yet: trying again');
    isFailing = true;
  };
  const flushAndLog = (save = saveEverything) => void flush(save).then(onStored, onFailure);

  const timers: NodeJS.Timeout[] = [];
  return {
    start(started) {
      source = started;
      timers.push(setInterval(() => flushAndLog(saveCounts), FLUSH_INTERVAL_MS));
      timers.push(setInterval(() => flushAndLog(), KEY_USES_INTERVAL_MS));
    },
    flush: () => flush(),
    recordBan(ban) {
      unsavedBans.set(ban.keyId, ban);
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
