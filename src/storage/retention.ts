/**
 * Deletes rows that are older than they are to be kept: at start and every hour, by the server's clock. Rows go in portions
 * with a pause after each, every portion a statement of its own, so that other writes never wait for more than one.
 *
 * Failure: what could not be deleted is left for the next time. Several servers may delete at the same time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

const INTERVAL_MS = 3_600_000;
/** Rows in one statement at the most: a few milliseconds. */
const MAX_ROWS = 250;
const PAUSE_MS = 50;

interface RetentionOptions {
  /** What is deleted, for the log: `usage`. */
  readonly what: string;
  /** Deletes old rows, so many at the most, and resolves with how many there were. */
  readonly deletePortion: (maxRows: number) => Promise<number>;
  readonly logger: Logger;
}

export interface Retention {
  /** Deletes no more, and resolves when nothing is under way. */
  close(): Promise<void>;
}

export function startRetention({ what, deletePortion, logger }: RetentionOptions): Retention {
  const closing = new AbortController();
  const { signal } = closing;
  const pause = (ms: number) => delay(ms, undefined, { signal, ref: false });

  const deleteOld = async (): Promise<void> => {
    let deleted: number;
    do {
      deleted = await deletePortion(MAX_ROWS);
      await pause(PAUSE_MS);
    } while (deleted === MAX_ROWS);
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await deleteOld();
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error }, `old ${what}: not deleted yet, trying again in an hour`);
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
