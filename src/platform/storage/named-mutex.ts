/** Runs work with the same name one at a time, in the order of arrival. Work with different names runs concurrently. */
import { StoreUnavailable } from './store-errors.ts';

/** Of each name `maxWaiting` pieces of work wait, for `maxWaitMs`. The result throws StoreUnavailable for others. */
export function namedMutex({ maxWaiting, maxWaitMs }: { readonly maxWaiting: number; readonly maxWaitMs: number }) {
  /** By the name of work that runs: what starts the work that waits for it. */
  const queues = new Map<string, (() => void)[]>();

  const wait = async (name: string, queue: (() => void)[]): Promise<void> => {
    if (queue.length >= maxWaiting) throw new StoreUnavailable(`too many calls wait for ${name}`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(resolve), 1);
      reject(new StoreUnavailable(`${name} was not available within ${maxWaitMs / 1_000} s`));
    }, maxWaitMs);
    queue.push(resolve);
    await promise.finally(() => clearTimeout(timer));
  };

  return async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(name);
    if (queue === undefined) queues.set(name, []);
    else await wait(name, queue);
    try {
      return await work();
    } finally {
      const startNext = queues.get(name)?.shift();
      if (startNext === undefined) queues.delete(name);
      else startNext();
    }
  };
}
