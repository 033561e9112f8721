/**
 * Batches reads. While a load from the database is in progress, new reads wait and share the next one, which they start
 * beside it when it is slow. While the database hangs, its engine refuses them after a bounded time.
 *
 * A read never joins a load that began before it, so a caller always sees its own writes.
 */

/** After this time the waiting reads do not wait for a load any longer. */
const SLOW_MS = 20;

/** Returns a function that reads a key. `load` loads `maxKeys` at most, in order; those with the same name once. */
export function sharedReads<Key, T>(
  load: (keys: readonly Key[]) => Promise<readonly (T | Promise<T>)[]>,
  nameOf: (key: Key) => unknown = (key) => key,
  maxKeys = Number.POSITIVE_INFINITY,
): (key: Key) => Promise<T> {
  interface Batch extends PromiseWithResolvers<readonly (T | Promise<T>)[]> {
    readonly keys: Key[];
    readonly indexes: Map<unknown, number>;
  }
  const waiting: Batch[] = [];
  /** The batch whose load the waiting ones wait for; undefined when none waits. */
  let loading: Batch | undefined;

  const loadNext = async (): Promise<void> => {
    const batch = waiting.shift();
    loading = batch;
    if (batch === undefined) return;
    const stopWaiting = () => {
      if (loading === batch) void loadNext();
    };
    const timer = setTimeout(stopWaiting, SLOW_MS);
    try {
      const results = await load(batch.keys);
      batch.resolve(results);
      await Promise.allSettled(results);
    } catch (error) {
      batch.reject(error);
    }
    clearTimeout(timer);
    stopWaiting();
  };

  return (key) => {
    let batch = waiting.at(-1);
    if (batch === undefined || batch.keys.length >= maxKeys) {
      batch = { keys: [], indexes: new Map(), ...Promise.withResolvers() };
      waiting.push(batch);
    }
    const { keys, indexes, promise } = batch;
    const name = nameOf(key);
    const index = indexes.get(name) ?? keys.push(key) - 1;
    indexes.set(name, index);
    if (loading === undefined) void loadNext();
    return promise.then((results) => results[index] as T | Promise<T>);
  };
}
