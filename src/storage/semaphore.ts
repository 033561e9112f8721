/** Limits on concurrent work, with a bounded queue: a semaphore, and a mutex per name. */
import { StoreUnavailable } from './store-errors.ts';

interface Options {
  /** The name of the resource in error messages, for example `a connection`. */
  readonly what: string;
  /** How much work may run at a time. */
  readonly limit: number;
  /** How much work may wait. More is refused at once. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

/** Runs at most `limit` pieces of work at a time. The others wait, first come, first served. */
export class Semaphore {
  readonly #options: Options;
  #limit: number;
  #running = 0;
  /** Each function starts a waiting piece of work. */
  #waiting: (() => void)[] = [];

  constructor(options: Options) {
    this.#options = options;
    this.#limit = options.limit;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** @throws StoreUnavailable when too much work waits, or when `work` has waited too long. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limit) this.#running += 1;
    else await this.#wait();
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#startWaiting();
    }
  }

  /** Sets the limit, between 1 and the one of the options. Work that is running is not interrupted. */
  setLimit(limit: number): void {
    this.#limit = Math.min(Math.max(limit, 1), this.#options.limit);
    this.#startWaiting();
  }

  #wait(): Promise<void> {
    const { what, maxWaiting, maxWaitMs } = this.#options;
    if (this.#waiting.length >= maxWaiting) {
      return Promise.reject(new StoreUnavailable(`too many calls wait for ${what}`));
    }
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== start);
        reject(new StoreUnavailable(`${what} was not available within ${maxWaitMs / 1_000} s`));
      }, maxWaitMs);
      this.#waiting.push(start);
    });
  }

  #startWaiting(): void {
    while (this.#running < this.#limit) {
      const start = this.#waiting.shift();
      if (start === undefined) return;
      this.#running += 1;
      start();
    }
  }
}

/** Runs work with the same name one at a time. Work with different names runs concurrently. */
export class NamedMutex {
  readonly #bounds: Pick<Options, 'maxWaiting' | 'maxWaitMs'>;
  readonly #byName = new Map<string, Semaphore>();

  constructor(bounds: Pick<Options, 'maxWaiting' | 'maxWaitMs'>) {
    this.#bounds = bounds;
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    let mutex = this.#byName.get(name);
    if (mutex === undefined) {
      mutex = new Semaphore({ ...this.#bounds, what: name, limit: 1 });
      this.#byName.set(name, mutex);
    }
    try {
      return await mutex.run(work);
    } finally {
      if (mutex.running === 0) this.#byName.delete(name);
    }
  }
}
