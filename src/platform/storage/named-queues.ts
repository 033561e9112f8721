/**
 * Runs work with the same name so many at a time, the owners in turn, and what one owner has in the order of arrival.
 * Work with different names runs concurrently.
 */
import type { Owned } from './fair-order.ts';
import { StoreUnavailable } from './store-errors.ts';

export interface QueueOptions {
  /** How much work of a name runs at once. */
  readonly atOnce: number;
  /** How many pieces of work of a name wait, and for how long. The result throws StoreUnavailable for others. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

interface Waiting extends Owned {
  readonly start: () => void;
}

export class NamedQueues {
  readonly #options: QueueOptions;
  /** The names of which work runs. */
  readonly #queues = new Map<string, { running: number; readonly waiting: Waiting[] }>();
  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** How much work waits. */
  get waiting(): number {
    return this.#queues.values().reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  async run<T>(name: string, work: () => Promise<T>, owner?: unknown): Promise<T> {
    const queue = this.#queues.get(name) ?? { running: 0, waiting: [] };
    this.#queues.set(name, queue);
    if (queue.running < this.#options.atOnce) queue.running += 1;
    else await this.#wait(name, queue.waiting, owner);
    try {
      return await work();
    } finally {
      const next = queue.waiting.find((one) => one.owner !== owner) ?? queue.waiting[0];
      if (next !== undefined) {
        queue.waiting.splice(queue.waiting.indexOf(next), 1);
        next.start(); // in the place of this one
      } else {
        queue.running -= 1;
        if (queue.running === 0) this.#queues.delete(name);
      }
    }
  }

  async #wait(name: string, queue: Waiting[], owner: unknown): Promise<void> {
    const { maxWaiting, maxWaitMs } = this.#options;
    if (queue.length >= maxWaiting) throw new StoreUnavailable(`too many calls wait for ${name}`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { owner, start: resolve };
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(waiting), 1);
      reject(new StoreUnavailable(`${name} was not available within ${maxWaitMs / 1_000} s`));
    }, maxWaitMs);
    queue.push(waiting);
    await promise.finally(() => clearTimeout(timer));
  }
}
