/**
 * Runs work with the same name one at a time, the owners in turn, and what one owner has in the order of arrival. Work
 * with different names runs concurrently.
 */
import type { Owned } from './fair-order.ts';
import { StoreUnavailable } from './store-errors.ts';

interface Waiting extends Owned {
  readonly start: () => void;
}

/** Of each name `maxWaiting` pieces of work wait, for `maxWaitMs`. The result throws StoreUnavailable for others. */
export function namedMutex({ maxWaiting, maxWaitMs }: { readonly maxWaiting: number; readonly maxWaitMs: number }) {
  /** By the name of work that runs: what starts the work that waits for it. */
  const queues = new Map<string, Waiting[]>();

  const wait = async (name: string, queue: Waiting[], owner: unknown): Promise<void> => {
    if (queue.length >= maxWaiting) throw new StoreUnavailable(`too many calls wait for ${name}`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { owner, start: resolve };
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(waiting), 1);
      reject(new StoreUnavailable(`${name} was not available within ${maxWaitMs / 1_000} s`));
    }, maxWaitMs);
    queue.push(waiting);
    await promise.finally(() => clearTimeout(timer));
  };

  return async <T>(name: string, work: () => Promise<T>, owner?: unknown): Promise<T> => {
    const queue = queues.get(name);
    if (queue === undefined) queues.set(name, []);
    else await wait(name, queue, owner);
    try {
      return await work();
    } finally {
      const waiting = queues.get(name) ?? [];
      const next = waiting.find((one) => one.owner !== owner) ?? waiting[0];
      if (next === undefined) queues.delete(name);
      else {
        waiting.splice(waiting.indexOf(next), 1);
        next.start();
      }
    }
  };
}
