/** Counts what is in flight for each address. An address with nothing in flight takes no memory. */
export class InFlightCounter {
  readonly #counts = new Map<string, number>();

  /** Returns the new count. */
  increment(address: string): number {
    const count = (this.#counts.get(address) ?? 0) + 1;
    this.#counts.set(address, count);
    return count;
  }

  decrement(address: string): void {
    const count = (this.#counts.get(address) ?? 1) - 1;
    if (count > 0) this.#counts.set(address, count);
    else this.#counts.delete(address);
  }
}
