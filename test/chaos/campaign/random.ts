/** Reproducible random numbers from a seed. */

export class Random {
  #state: number;

  /** `seed` is a whole number. */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, but not including, 1. The algorithm is mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.int(0, choices.length - 1)] ?? choices[0];
  }

  /** A random element; undefined if the list is empty. */
  pickAny<T>(choices: readonly T[]): T | undefined {
    return choices[this.int(0, choices.length - 1)];
  }

  /** A random name, by weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries<number>(weights) as [Name, number][];
    let rest = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      rest -= weight;
      if (rest < 0) return name;
    }
    throw new Error('there is nothing to choose from');
  }

  shuffled<T>(all: readonly T[]): T[] {
    const drawn = all.map((one) => ({ one, place: this.next() }));
    return drawn.toSorted((a, b) => a.place - b.place).map(({ one }) => one);
  }

  /** An independent generator, so that users of random numbers don't affect each other. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32));
  }
}
