/**
 * The counts of all addresses that sent a request this minute. Anybody can use many addresses, so at most `maxTracked`
 * of them have counters of their own; all others share one counter until the minute ends.
 */
import type { Address } from './subjects.ts';
import { type Counter, minuteIndexAt, newCounter } from './windows.ts';

export class AddressCounters {
  readonly #maxTracked: number;
  #minuteIndex = Number.NEGATIVE_INFINITY;
  #counters = new Map<Address, Counter>();
  /** For the addresses beyond `#maxTracked`. */
  readonly #shared: Counter = newCounter(0);

  constructor(maxTracked: number) {
    this.#maxTracked = maxTracked;
  }

  get size(): number {
    return this.#counters.size;
  }

  getOrAdd(address: Address, nowMs: number): Counter {
    const existing = this.#find(address, nowMs);
    if (existing !== undefined) return existing;
    const counter = newCounter(nowMs);
    this.#counters.set(address, counter);
    return counter;
  }

  /** Whether the address uses the shared counter. An address that is new gets a counter of its own if there is room. */
  isShared(address: Address, nowMs: number): boolean {
    return this.getOrAdd(address, nowMs) === this.#shared;
  }

  /** Returns the address's counter; if it has none, a new one that is not kept. */
  counterOf(address: Address, nowMs: number): Counter {
    return this.#find(address, nowMs) ?? newCounter(nowMs);
  }

  /** Returns the counter of the address, which may be the shared one; undefined if there is room for its own. */
  #find(address: Address, nowMs: number): Counter | undefined {
    this.#enterMinute(minuteIndexAt(nowMs));
    return this.#counters.get(address) ?? (this.#counters.size < this.#maxTracked ? undefined : this.#shared);
  }

  #enterMinute(minuteIndex: number): void {
    if (minuteIndex === this.#minuteIndex) return;
    this.#minuteIndex = minuteIndex;
    this.#counters = new Map();
  }
}
