/**
 * Deletes rows past their retention time at start and every hour, by the clock of the limits, in small statements with
 * pauses: other writes wait for one at most. What could not be deleted is deleted the next time. Several servers may
 * delete at the same time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

const INTERVAL_MS = 3_600_000;
/** The maximum number of rows per statement, which takes a few milliseconds. */
const MAX_ROWS = 250;
const PAUSE_MS = 50;

/** Deletes or looks at `maxRows` rows at most, by the time `nowMs`. Resolves with 0 when nothing is left. */
export type DeletePortion = (maxRows: number, nowMs: number) => Promise<number>;
type Now = () => number | Promise<number>;

/** `portions` has the name of the rows for the log, for example `usage`. The result stops, after the last statement. */
export function startRetention(now: Now, logger: Logger, portions: Readonly<Record<string, DeletePortion>>) {
  const closing = new AbortController();
  const { signal } = closing;
  const pause = (ms: number) => delay(ms, undefined, { signal, ref: false });

  const run = async (): Promise<void> => {
    for (;;) {
      for (const [what, deletePortion] of Object.entries(portions)) {
        try {
          while ((await deletePortion(MAX_ROWS, await now())) > 0) await pause(PAUSE_MS);
        } catch (error) {
          if (!signal.aborted) logger.warn({ err: error }, `old ${what}: not deleted yet, trying again in an hour`);
        }
        signal.throwIfAborted();
      }
      await pause(INTERVAL_MS);
    }
  };

  const running = run().catch(() => undefined); // ended by the signal
  return () => {
    closing.abort();
    return running;
  };
}
