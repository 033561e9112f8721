/**
 * The counts of all addresses that sent a request this minute. Anybody can use many addresses, so at most `maxTracked`
 * of them have counters of their own; all others share one counter until the minute ends.
 */
import { type Counter, minuteIndexAt, newCounter } from './windows.ts';

/** The name that the addresses beyond `maxTracked` share. */
const OTHERS = 'others';

export class AddressCounters {
  readonly #maxTracked: number;
  #minuteIndex = Number.NEGATIVE_INFINITY;
  #counters = new Map<string, Counter>();

  constructor(maxTracked: number) {
    this.#maxTracked = maxTracked;
  }

  get size(): number {
    return this.#counters.size;
  }

  /** Returns the name that an address counts under: its own, or that of all others. */
  nameOf(address: string, nowMs: number): string {
    const minuteIndex = minuteIndexAt(nowMs);
    if (minuteIndex !== this.#minuteIndex) {
      this.#minuteIndex = minuteIndex;
      this.#counters = new Map();
    }
    return this.#counters.size < this.#maxTracked || this.#counters.has(address) ? address : OTHERS;
  }

  /** Returns the counter of that name; if there is none, a new one that is not kept. */
  find(address: string, nowMs: number): Counter {
    return this.#counters.get(this.nameOf(address, nowMs)) ?? newCounter(nowMs);
  }

  /** Returns the counter of that name, to be changed. */
  change(address: string, nowMs: number): Counter {
    const counter = this.find(address, nowMs);
    this.#counters.set(this.nameOf(address, nowMs), counter);
    return counter;
  }
}
