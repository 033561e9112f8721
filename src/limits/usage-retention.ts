/**
 * Deletes usage that is older than it is to be kept: at start and every hour, by the server's clock. Rows go in portions
 * with a pause after each, every portion a statement of its own, so that other writes never wait for more than one.
 *
 * Failure: what could not be deleted is left for the next time. Several servers may delete at the same time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Store } from '../storage/store.ts';
import { dayIndexAt } from './windows.ts';

const INTERVAL_MS = 3_600_000;
/** Rows in one statement at the most: a few milliseconds. */
const MAX_ROWS = 250;
const PAUSE_MS = 50;

export interface UsageRetentionOptions {
  readonly store: Store;
  /** How many days are kept beside today. */
  readonly days: number;
  readonly logger: Logger;
  readonly nowMs?: () => number;
}

export interface UsageRetention {
  /** Deletes no more, and resolves when nothing is under way. */
  close(): Promise<void>;
}

export function startUsageRetention({ store, days, logger, nowMs = Date.now }: UsageRetentionOptions): UsageRetention {
  const closing = new AbortController();
  const { signal } = closing;
  const pause = (ms: number) => delay(ms, undefined, { signal, ref: false });

  const deleteOld = async (): Promise<void> => {
    const firstKept = dayIndexAt(nowMs()) - days;
    let deleted: number;
    do {
      deleted = await store.write(({ usage }) => usage.deleteBefore(firstKept, MAX_ROWS));
      await pause(PAUSE_MS);
    } while (deleted === MAX_ROWS);
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await deleteOld();
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error }, 'old usage is not deleted yet: trying again in an hour');
      }
      await pause(INTERVAL_MS).catch(() => undefined);
    }
  };

  const running = run();
  return {
    async close() {
      closing.abort();
      await running;
    },
  };
}
