import { setTimeout as delay } from 'node:timers/promises';

/** Lets a few tests of a file start processes at a time. On two cores, more would only make each other slow. */
export class Turns {
  #free: number;

  constructor(atATime: number) {
    this.#free = atATime;
  }

  /** Waits for a turn. The returned function ends it. */
  async take(): Promise<() => void> {
    while (this.#free === 0) await delay(10);
    this.#free -= 1;
    return () => {
      this.#free += 1;
    };
  }
}
