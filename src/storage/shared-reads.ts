/**
 * Batches reads. While a load from the database is in progress, new reads wait and share the next load. A single read
 * is not delayed; many concurrent reads cost one load. When a load is slow, the waiting reads start the next one beside
 * it. While the database hangs, its engine refuses them: each load waits for it for a bounded time.
 *
 * A read never joins a load that began before it, so a caller always sees its own writes.
 */

/** After this time the waiting reads do not wait for a load any longer. */
const SLOW_MS = 20;

/** Loads all of these keys at once. Resolves with a function that returns the result of each key. */
type Load<Key, T> = (keys: readonly Key[]) => Promise<(key: Key) => T>;

/** Returns a function that reads a key. `onIdle` is called when no read waits. */
function sharedReads<Key, T>(load: Load<Key, T>, onIdle = () => {}): (key: Key) => Promise<T> {
  interface Batch extends PromiseWithResolvers<(key: Key) => T> {
    readonly keys: Set<Key>;
  }
  let waiting: Batch | undefined;
  /** The batch whose load new reads wait for; undefined when there is none or it is slow. */
  let loading: Batch | undefined;

  const start = async (batch: Batch): Promise<void> => {
    waiting = undefined;
    loading = batch;
    const stopWaiting = () => {
      if (loading !== batch) return;
      loading = undefined;
      if (waiting === undefined) onIdle();
      else void start(waiting);
    };
    const timer = setTimeout(stopWaiting, SLOW_MS);
    try {
      batch.resolve(await load([...batch.keys]));
    } catch (error) {
      batch.reject(error);
    }
    clearTimeout(timer);
    stopWaiting();
  };

  return (key) => {
    const batch = waiting ?? { keys: new Set<Key>(), ...Promise.withResolvers<(key: Key) => T>() };
    waiting = batch;
    batch.keys.add(key);
    if (loading === undefined) void start(batch);
    return batch.promise.then((resultOf) => resultOf(key));
  };
}

/** Returns a function that finds a row by its id. Concurrent calls share statements that select many ids. */
export function batchedLookup<T extends { readonly id: Id }, Id = bigint>(
  load: (ids: readonly Id[]) => Promise<readonly T[]>,
): (id: Id) => Promise<T | undefined> {
  return sharedReads(async (ids: readonly Id[]) => {
    const rows = new Map((await load(ids)).map((row) => [row.id, row]));
    return (id: Id) => rows.get(id);
  });
}

/** Returns a function that shares the result of concurrent reads with the same name. Other names do not wait for it. */
export function namedReads<T>(): (name: string, load: () => Promise<T>) => Promise<T> {
  const byName = new Map<string, (key: undefined) => Promise<T>>();
  return (name, load) => {
    let read = byName.get(name);
    if (read === undefined) {
      const loadOnce = async () => {
        const result = await load();
        return () => result;
      };
      read = sharedReads(loadOnce, () => byName.delete(name));
      byName.set(name, read);
    }
    return read(undefined);
  };
}
