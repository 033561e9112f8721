/**
 * Whether the database is unavailable. The log has a line for each change, not per call.
 *
 * PostgreSQL is unavailable when a connection is refused, breaks, or stays silent for longer than the server's own
 * timeouts; not when it is slow, busy, or out of connections. SQLite is unavailable when it can't write.
 */
import { SILENT, type StorageLogger } from './engine.ts';

/** How long after a failure a call must begin for its response to count: a server that stops may still respond. */
const SETTLE_MS = 1_000;

export class Availability {
  readonly #logger: StorageLogger;
  /** What the log says when the database becomes unavailable. */
  readonly #awayText: string;
  /** The history of the database (events/migrations/009-events.ts) that the newest session has met. */
  history: string | undefined;
  isAway = false;
  /** When the state last changed or a call last failed. */
  #changedMs = 0;

  constructor(logger: StorageLogger = SILENT, awayText: string) {
    this.#logger = logger;
    this.#awayText = awayText;
  }

  /** Records a failure. That of a call that began before the last change is old news. */
  noteFailure(cause: Error, callBeganMs: number): void {
    if (callBeganMs < this.#changedMs) return;
    this.#changedMs = performance.now();
    if (this.isAway) return;
    this.isAway = true;
    this.#logger.warn({ cause: cause.message }, this.#awayText);
  }

  noteResponse(callBeganMs: number): void {
    if (!this.isAway || callBeganMs <= this.#changedMs + SETTLE_MS) return;
    this.isAway = false;
    this.#changedMs = performance.now();
    this.#logger.info({}, 'the database is back');
  }
}
