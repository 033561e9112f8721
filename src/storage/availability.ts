/**
 * Whether the database is unavailable. The listener hears of each change once, not per call.
 *
 * The database is unavailable when a connection is refused, breaks, or stays silent for longer than the server's own
 * timeouts. A database that is slow, busy, or out of connections is available.
 */
export interface AvailabilityListener {
  readonly onAway?: (cause: Error) => void;
  readonly onBack?: () => void;
}

/** A response on an old connection counts only if the call began this long after another connection failed. */
const SETTLE_MS = 1_000;

export class Availability {
  readonly #listener: AvailabilityListener;
  #isAway = false;
  /** When `#isAway` last changed. */
  #changedMs = 0;

  constructor(listener: AvailabilityListener) {
    this.#listener = listener;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /** Records that a connection failed. A call that began before the last change is ignored: its failure is old news. */
  noteFailure(cause: Error, callBeganMs: number): void {
    if (this.#isAway || callBeganMs < this.#changedMs) return;
    this.#isAway = true;
    this.#changedMs = performance.now();
    this.#listener.onAway?.(cause);
  }

  /** Records a response. A server that is shutting down may still respond on one connection after it closed another. */
  noteResponse(connectionOpenedMs: number, callBeganMs: number): void {
    if (!this.#isAway) return;
    if (connectionOpenedMs <= this.#changedMs && callBeganMs <= this.#changedMs + SETTLE_MS) return;
    this.#isAway = false;
    this.#changedMs = performance.now();
    this.#listener.onBack?.();
  }
}
