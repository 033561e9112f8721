/**
 * Deletes rows past their retention time at start and every hour, by the server's clock. Rows are deleted in small
 * statements with a pause after each, so that other writes wait for one statement at most.
 *
 * Failure: rows that could not be deleted are deleted the next time. Several servers may delete at the same time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

const INTERVAL_MS = 3_600_000;
/** The maximum number of rows per statement, which takes a few milliseconds. */
const MAX_ROWS = 250;
const PAUSE_MS = 50;

interface RetentionOptions {
  /** The name of the rows for the log, for example `usage`. */
  readonly what: string;
  /** Deletes at most `maxRows` old rows. Resolves with the number of deleted rows. */
  readonly deletePortion: (maxRows: number) => Promise<number>;
  readonly logger: Logger;
}

export interface Retention {
  /** Stops deleting, and resolves when the last statement has ended. */
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
