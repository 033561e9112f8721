/** The outcomes of an attack's requests. */

/** A tally that can be sent to another process. */
export interface Outcomes {
  /** The number of requests by outcome: a status, `closed`, `unanswered`. */
  readonly counts: Readonly<Record<string, number>>;
  /** The longest time of a request that ended so. */
  readonly longestMs: Readonly<Record<string, number>>;
  readonly total: number;
}

export const NOTHING: Outcomes = { counts: {}, longestMs: {}, total: 0 };

export class Tally {
  readonly #counts: Record<string, number> = {};
  readonly #longestMs: Record<string, number> = {};
  #total = 0;

  add(outcome: string, tookMs: number): void {
    this.#counts[outcome] = (this.#counts[outcome] ?? 0) + 1;
    this.#longestMs[outcome] = Math.max(Math.round(tookMs), this.#longestMs[outcome] ?? 0);
    this.#total += 1;
  }

  /** Starts a request. The returned function ends it, once. */
  start(): (outcome: string) => void {
    const startedAtMs = performance.now();
    let isOver = false;
    return (outcome) => {
      if (!isOver) this.add(outcome, performance.now() - startedAtMs);
      isOver = true;
    };
  }

  get outcomes(): Outcomes {
    return { counts: this.#counts, longestMs: this.#longestMs, total: this.#total };
  }
}
