/** How many of something each address has open. An address that has none takes no memory. */
export class OpenCounts {
  readonly #counts = new Map<string, number>();

  /** Opens one more, and returns how many there are with it. */
  open(address: string): number {
    const count = (this.#counts.get(address) ?? 0) + 1;
    this.#counts.set(address, count);
    return count;
  }

  close(address: string): void {
    const count = (this.#counts.get(address) ?? 1) - 1;
    if (count > 0) this.#counts.set(address, count);
    else this.#counts.delete(address);
  }
}
