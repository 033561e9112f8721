/**
 * The counts of all addresses that sent a request this minute. Anybody can use many addresses, so at most `maxTracked`
 * of them have counters of their own; all others share one counter until the minute ends.
 */
import { type Counter, minuteIndexAt, newCounter } from './windows.ts';

export class AddressCounters {
  readonly #maxTracked: number;
  #minuteIndex = Number.NEGATIVE_INFINITY;
  #counters = new Map<string, Counter>();
  /** For the addresses beyond `#maxTracked`. */
  readonly #shared: Counter = newCounter(0);

  constructor(maxTracked: number) {
    this.#maxTracked = maxTracked;
  }

  get size(): number {
    return this.#counters.size;
  }

  getOrAdd(address: string, nowMs: number): Counter {
    const counter = this.counterOf(address, nowMs);
    if (counter !== this.#shared) this.#counters.set(address, counter);
    return counter;
  }

  /** Returns the address's counter, which may be the shared one; if there is room for its own, a new one not kept. */
  counterOf(address: string, nowMs: number): Counter {
    const minuteIndex = minuteIndexAt(nowMs);
    if (minuteIndex !== this.#minuteIndex) {
      this.#minuteIndex = minuteIndex;
      this.#counters = new Map();
    }
    const isFull = this.#counters.size >= this.#maxTracked;
    return this.#counters.get(address) ?? (isFull ? this.#shared : newCounter(nowMs));
  }

  isShared(counter: Counter): boolean {
    return counter === this.#shared;
  }
}
