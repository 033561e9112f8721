/** Waiting in turn, boundedly: for one of a few places, or for a thing that others are changing. */
import { StoreUnavailable } from './store-errors.ts';

interface Options {
  /** What is waited for, for people: `a connection`. */
  readonly what: string;
  readonly atATime: number;
  /** Those beyond are refused at once. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

interface Waiting {
  enter(): void;
}

/** Lets so many in at a time; the others wait in the order in which they came. */
export class Turns {
  readonly #options: Options;
  #atATime: number;
  #inside = 0;
  #waiting: Waiting[] = [];

  constructor(options: Options) {
    this.#options = options;
    this.#atATime = options.atATime;
  }

  get inside(): number {
    return this.#inside;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get isIdle(): boolean {
    return this.#inside === 0;
  }

  /**
   * Runs `work` when its turn comes.
   *
   * @throws StoreUnavailable when too many wait already, or when its turn did not come in time.
   */
  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside < this.#atATime) this.#inside += 1;
    else await this.#wait();
    try {
      return await work();
    } finally {
      this.#inside -= 1;
      this.#admit();
    }
  }

  /** Changes how many are let in. Nobody who is inside is sent out. */
  limit(atATime: number): void {
    this.#atATime = Math.min(Math.max(atATime, 1), this.#options.atATime);
    this.#admit();
  }

  #wait(): Promise<void> {
    const { what, maxWaiting, maxWaitMs } = this.#options;
    if (this.#waiting.length >= maxWaiting) {
      return Promise.reject(new StoreUnavailable(`too many calls wait for ${what}`));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        reject(new StoreUnavailable(`${what} was not to be had within ${maxWaitMs / 1_000} s`));
      }, maxWaitMs);
      const waiting: Waiting = {
        enter() {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiting.push(waiting);
    });
  }

  #admit(): void {
    while (this.#inside < this.#atATime) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#inside += 1;
      next.enter();
    }
  }
}

/** Turns of one at a time for each thing that has a name. */
export class Lanes {
  readonly #bounds: Pick<Options, 'maxWaiting' | 'maxWaitMs'>;
  readonly #turns = new Map<string, Turns>();

  constructor(bounds: Pick<Options, 'maxWaiting' | 'maxWaitMs'>) {
    this.#bounds = bounds;
  }

  async use<T>(name: string, work: () => Promise<T>): Promise<T> {
    let turns = this.#turns.get(name);
    if (turns === undefined) {
      turns = new Turns({ ...this.#bounds, what: name, atATime: 1 });
      this.#turns.set(name, turns);
    }
    try {
      return await turns.use(work);
    } finally {
      if (turns.isIdle) this.#turns.delete(name);
    }
  }
}
