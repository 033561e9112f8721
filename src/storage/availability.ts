/**
 * Whether the database is unavailable. The listener hears of each change once, not per call.
 *
 * PostgreSQL is unavailable when a connection is refused, breaks, or stays silent for longer than the server's own
 * timeouts; not when it is slow, busy, or out of connections. SQLite is unavailable when it can't write.
 */
export interface AvailabilityListener {
  readonly onAway?: (cause: Error) => void;
  readonly onBack?: () => void;
}

/** How long after a failure a call must begin for its response to count, unless its connection is newer. */
const SETTLE_MS = 1_000;

export class Availability {
  readonly #listener: AvailabilityListener;
  #isAway = false;
  /** When the state last changed or a call last failed. */
  #changedMs = 0;

  constructor(listener: AvailabilityListener) {
    this.#listener = listener;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /** Records a failure. That of a call that began before the last change is old news. */
  noteFailure(cause: Error, callBeganMs: number): void {
    if (callBeganMs < this.#changedMs) return;
    this.#changedMs = performance.now();
    if (this.#isAway) return;
    this.#isAway = true;
    this.#listener.onAway?.(cause);
  }

  /** Records a response. A server that is shutting down may still respond on one connection after it closed another. */
  noteResponse(callBeganMs: number, connectionOpenedMs = 0): void {
    if (!this.#isAway) return;
    if (connectionOpenedMs <= this.#changedMs && callBeganMs <= this.#changedMs + SETTLE_MS) return;
    this.#isAway = false;
    this.#changedMs = performance.now();
    this.#listener.onBack?.();
  }
}
