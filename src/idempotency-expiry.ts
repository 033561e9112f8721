/**
 * Deletes idempotency records that are old enough. It does so by a small portion at a time, with a pause between two, so
 * that no write waits for long behind it.
 *
 * Failure: what could not be deleted is deleted later. A record that is there for longer than it must be does no harm.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Store } from './storage/store.ts';

/** How many records one transaction deletes at the most: a few milliseconds. */
const PORTION = 500;
/** The pause while there is more to delete, and until there may be again. */
const BETWEEN_PORTIONS_MS = 50;
const INTERVAL_MS = 60_000;

export interface IdempotencyExpiry {
  close(): Promise<void>;
}

/** Keeps records for `keepMs`. */
export function createIdempotencyExpiry(store: Store, keepMs: number, logger: Logger): IdempotencyExpiry {
  const stopping = new AbortController();

  const deletePortion = async (): Promise<number> => {
    try {
      return await store.write(({ idempotency }) => idempotency.deleteOldest(PORTION, Date.now() - keepMs));
    } catch (error) {
      logger.warn({ err: error }, 'old idempotency records are not deleted yet: trying again');
      return 0;
    }
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const pauseMs = (await deletePortion()) === PORTION ? BETWEEN_PORTIONS_MS : INTERVAL_MS;
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined); // stopping
    }
  };

  const running = run();
  return {
    async close() {
      stopping.abort();
      await running;
    },
  };
}
