/**
 * Keeps what the limits must not forget: the day's counts and the bans. It takes them from the limiter every half
 * second and stores them, so that no request pays for a write, a crash loses the last second at the most, and a
 * clean stop loses nothing; and gives them back to the limiter at the next start.
 *
 * Failure: rows that could not be stored are stored the next time, with whatever came since; the limits go on.
 */
import type { Logger } from 'pino';
import type { Store } from '../storage/store.ts';
import type { Ban, LimitsEngine, UsageRow } from './limiter.ts';
import { dayIndexAt } from './windows.ts';

const FLUSH_INTERVAL_MS = 500;

export interface UsageRecorder {
  /** Stores at once what has not been stored yet. */
  flush(): Promise<void>;
  /** Stores a ban; the limiter knows it already. */
  recordBan(ban: Ban): void;
  /** Stops storing by itself, and stores the rest. */
  close(): Promise<void>;
}

/** Gives the limiter today's counts and the bans in force, as they were stored. */
export async function restoreLimits(store: Store, limiter: LimitsEngine, nowMs: number): Promise<void> {
  const usage = await store.usage.ofDay(dayIndexAt(nowMs));
  await limiter.restoreUsage(usage.map(({ accountId, ...day }) => ({ subject: String(accountId), ...day })));
  const bans = await store.usage.bans(nowMs);
  limiter.restoreBans(bans.map(({ keyId, untilMs }) => ({ key: String(keyId), untilMs })));
}

export function createUsageRecorder(store: Store, limiter: LimitsEngine, logger: Logger): UsageRecorder {
  let unsaved = new Map<string, UsageRow>();
  let bans: Ban[] = [];
  let flushing: Promise<void> = Promise.resolve();

  const save = async (): Promise<void> => {
    for (const row of limiter.drainUsage()) unsaved.set(`${row.subject} ${row.dayIndex}`, row);
    if (unsaved.size === 0 && bans.length === 0) return;
    const [rows, newBans] = [unsaved, bans];
    [unsaved, bans] = [new Map(), []];
    try {
      await store.transaction(async ({ usage }) => {
        // In one order everywhere: servers that share a database must not wait for each other in a circle.
        for (const [, { subject, ...day }] of [...rows].sort(byName)) {
          await usage.put({ accountId: BigInt(subject), ...day });
        }
        for (const { key, untilMs } of newBans.toSorted(byKey)) await usage.putBan({ keyId: BigInt(key), untilMs });
      });
    } catch (error) {
      unsaved = new Map([...rows, ...unsaved]);
      bans = [...newBans, ...bans];
      throw error;
    }
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
      bans.push(ban);
      flushAndLog();
    },
    async close() {
      clearInterval(timer);
      await flush().catch((error: unknown) => logger.error({ err: error }, 'the last usage is not stored'));
    },
  };
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

function byKey(one: Ban, other: Ban): number {
  return one.key < other.key ? -1 : 1;
}
