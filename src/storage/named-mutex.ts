/** Runs work with the same name one at a time, in the order of arrival. Work with different names runs concurrently. */
import { StoreUnavailable } from './store-errors.ts';

interface Bounds {
  /** How much work of one name may wait. More is refused at once. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

export class NamedMutex {
  readonly #bounds: Bounds;
  /** By the name of work that runs: what starts the work that waits for it. */
  readonly #queues = new Map<string, (() => void)[]>();

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** @throws StoreUnavailable when too much work waits, or when `work` has waited too long. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(name);
    if (queue === undefined) this.#queues.set(name, []);
    else await this.#wait(name, queue);
    try {
      return await work();
    } finally {
      const startNext = this.#queues.get(name)?.shift();
      if (startNext === undefined) this.#queues.delete(name);
      else startNext();
    }
  }

  #wait(name: string, queue: (() => void)[]): Promise<void> {
    const { maxWaiting, maxWaitMs } = this.#bounds;
    if (queue.length >= maxWaiting) return Promise.reject(new StoreUnavailable(`too many calls wait for ${name}`));
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(start), 1);
        reject(new StoreUnavailable(`${name} was not available within ${maxWaitMs / 1_000} s`));
      }, maxWaitMs);
      queue.push(start);
    });
  }
}
