/**
 * Keeps what the limits must not forget: the day's counts and the bans. It takes them from the limiter every half
 * second and stores them, so that no request pays for a write, a crash loses the last second at the most, and a
 * clean stop loses nothing; and gives them back to the limiter at the next start.
 *
 * Rows are stored many at a time, in one statement that is a transaction by itself. Where there is one writer, as on
 * SQLite, other writes take turns with these statements, so they wait for a portion and not for all accounts.
 *
 * Failure: rows that could not be stored are stored the next time, with whatever came since; the limits go on.
 */
import type { Logger } from 'pino';
import type { Store } from '../storage/store.ts';
import type { UsageWriter } from '../storage/usage.ts';
import type { Ban, LimitsEngine, UsageRow } from './limiter.ts';
import { dayIndexAt } from './windows.ts';

const FLUSH_INTERVAL_MS = 500;
/** Rows in one statement at the most: a few milliseconds. */
const MAX_ROWS = 250;

export interface UsageRecorder {
  /** Stores at once what has not been stored yet. */
  flush(): Promise<void>;
  /** Stores a ban; the limiter knows it already. */
  recordBan(ban: Ban): void;
  /** Counts and bans that are not stored yet. */
  readonly backlog: number;
  /** Stops storing by itself, and stores the rest. */
  close(): Promise<void>;
}

/** Gives the limiter today's counts and the bans in force, as they were stored. */
export async function restoreLimits(store: Store, limiter: LimitsEngine, nowMs: number): Promise<void> {
  const usage = await store.usage.ofDay(dayIndexAt(nowMs));
  limiter.restoreUsage(usage.map(({ accountId, ...day }) => ({ subject: String(accountId), ...day })));
  const bans = await store.usage.bans(nowMs);
  limiter.restoreBans(bans.map(({ keyId, untilMs }) => ({ key: String(keyId), untilMs })));
}

export function createUsageRecorder(store: Store, limiter: LimitsEngine, logger: Logger): UsageRecorder {
  const unsavedUsage = new Map<string, UsageRow>();
  const unsavedBans = new Map<string, Ban>();
  let flushing: Promise<void> = Promise.resolve();

  /** Stores portion by portion. What is stored is forgotten, unless it has changed meanwhile. */
  const saveAll = async <T>(
    unsaved: Map<string, T>,
    put: (usage: UsageWriter, rows: readonly T[]) => Promise<void>,
  ): Promise<void> => {
    const all = [...unsaved];
    for (let start = 0; start < all.length; start += MAX_ROWS) {
      const portion = all.slice(start, start + MAX_ROWS);
      const rows = portion.map(([, row]) => row);
      await store.write(({ usage }) => put(usage, rows));
      for (const [name, row] of portion) if (unsaved.get(name) === row) unsaved.delete(name);
    }
  };

  const save = async (): Promise<void> => {
    for (const row of limiter.drainUsage()) unsavedUsage.set(`${row.subject} ${row.dayIndex}`, row);
    await saveAll(unsavedBans, (usage, bans) =>
      usage.putBans(bans.map(({ key, untilMs }) => ({ keyId: BigInt(key), untilMs }))),
    );
    await saveAll(unsavedUsage, (usage, rows) =>
      usage.put(rows.map(({ subject, ...day }) => ({ accountId: BigInt(subject), ...day }))),
    );
  };

  /** One after the other: whoever flushes has all that was counted before stored when it resolves. */
  const flush = (): Promise<void> => {
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
  const flushAndLog = () => void flush().then(noteStored, noteFailure);

  const timer = setInterval(flushAndLog, FLUSH_INTERVAL_MS);
  return {
    flush,
    recordBan(ban) {
      unsavedBans.set(ban.key, ban);
      flushAndLog();
    },
    get backlog() {
      return unsavedUsage.size + unsavedBans.size;
    },
    async close() {
      clearInterval(timer);
      await flush().catch((error: unknown) => logger.error({ err: error }, 'the last usage is not stored'));
    },
  };
}
