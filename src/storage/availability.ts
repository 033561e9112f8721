/**
 * Whether the database is away, told once each time it goes and comes back, not per call.
 *
 * Away is when a connection is refused, breaks, or says nothing for longer than the server itself would take to give up.
 * A database that is slow, busy, or out of connections is not away.
 */
export interface AvailabilityListener {
  readonly onAway?: (cause: Error) => void;
  readonly onBack?: () => void;
}

/** A connection that still answers so long after another failed has a server that lives. */
const SURE_MS = 1_000;

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

  /** A connection failed during a call. What began before the database was back says nothing new. */
  noteFailure(cause: Error, callBeganMs: number): void {
    if (this.#isAway || callBeganMs < this.#changedMs) return;
    this.#isAway = true;
    this.#changedMs = performance.now();
    this.#listener.onAway?.(cause);
  }

  /** A call was answered. A server that dies may do so on one connection when it has closed another. */
  noteAnswer(connectionOpenedMs: number, callBeganMs: number): void {
    if (!this.#isAway) return;
    if (connectionOpenedMs <= this.#changedMs && callBeganMs <= this.#changedMs + SURE_MS) return;
    this.#isAway = false;
    this.#changedMs = performance.now();
    this.#listener.onBack?.();
  }
}
