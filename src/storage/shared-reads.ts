/**
 * Batches reads. While a load from the database is in progress, new reads wait and share the next load. A single read
 * is not delayed; many concurrent reads cost one load.
 *
 * When a load is slow, the waiting reads start another one beside it, up to MAX_LOADS. While all of them hang, a read
 * that has waited too long is refused.
 *
 * A read never joins a load that began before it, so a caller always sees its own writes.
 */
import { StoreUnavailable } from './store-errors.ts';

interface PendingRead<Key, T> {
  readonly key: Key;
  readonly sinceMs: number;
  readonly resolve: (result: T) => void;
  readonly reject: (error: unknown) => void;
}

/** The maximum number of reads in one load. */
const MAX_BATCH = 500;
/** After this time the waiting reads do not wait for a load any longer. */
const SLOW_MS = 20;
/** The maximum number of concurrent loads. */
const MAX_LOADS = 3;
/** A read that has waited this long for a load to start is refused. */
const MAX_WAIT_MS = 5_000;

/** Loads all of these distinct keys at once. Resolves with a function that returns the result of each key. */
type Load<Key, T> = (keys: readonly Key[]) => Promise<(key: Key) => T>;

interface Options {
  /** Called when the last load in progress has ended. */
  readonly onIdle?: () => void;
  readonly maxWaitMs?: number;
}

class SharedReads<Key, T> {
  readonly #load: Load<Key, T>;
  readonly #onIdle: () => void;
  readonly #maxWaitMs: number;
  #pending: PendingRead<Key, T>[] = [];
  #loadsInProgress = 0;
  /** The load that new reads wait for; undefined when there is none or it is slow. */
  #currentLoad: object | undefined;
  /** Set while all loads are in progress and reads wait. */
  #refusal: NodeJS.Timeout | undefined;

  constructor(load: Load<Key, T>, { onIdle = () => undefined, maxWaitMs = MAX_WAIT_MS }: Options = {}) {
    this.#load = load;
    this.#onIdle = onIdle;
    this.#maxWaitMs = maxWaitMs;
  }

  read(key: Key): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ key, sinceMs: performance.now(), resolve, reject });
      this.#startLoad();
    });
  }

  #startLoad(): void {
    if (this.#currentLoad !== undefined || this.#pending.length === 0) return;
    if (this.#loadsInProgress === MAX_LOADS) {
      this.#refusal ??= setTimeout(() => this.#refuseLate(), this.#maxWaitMs);
      return;
    }
    const load = {};
    const stopWaiting = () => {
      if (this.#currentLoad === load) this.#currentLoad = undefined;
      this.#startLoad();
    };
    this.#currentLoad = load;
    this.#loadsInProgress += 1;
    const timer = setTimeout(stopWaiting, SLOW_MS);
    void this.#loadBatch(this.#pending.splice(0, MAX_BATCH)).then(() => {
      clearTimeout(timer);
      this.#loadsInProgress -= 1;
      stopWaiting();
      if (this.#loadsInProgress === 0) this.#onIdle();
    });
  }

  /** The queue is in order of arrival. */
  #refuseLate(): void {
    const oldestMs = performance.now() - this.#maxWaitMs;
    while (this.#pending[0] !== undefined && this.#pending[0].sinceMs <= oldestMs) {
      this.#pending.shift()?.reject(new StoreUnavailable('the database is too slow to be read'));
    }
    const [oldest] = this.#pending;
    this.#refusal = oldest && setTimeout(() => this.#refuseLate(), oldest.sinceMs - oldestMs);
  }

  async #loadBatch(batch: readonly PendingRead<Key, T>[]): Promise<void> {
    try {
      const resultOf = await this.#load([...new Set(batch.map(({ key }) => key))]);
      for (const { key, resolve } of batch) resolve(resultOf(key));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

/** Finds rows by id. Concurrent calls share statements that select many ids. */
export class BatchedLookup<T extends { readonly id: Id }, Id = bigint> {
  readonly #reads: SharedReads<Id, T | undefined>;

  constructor(load: (ids: readonly Id[]) => Promise<readonly T[]>, options?: Pick<Options, 'maxWaitMs'>) {
    const loadAll = async (ids: readonly Id[]) => {
      const rows = new Map((await load(ids)).map((row) => [row.id, row]));
      return (id: Id) => rows.get(id);
    };
    this.#reads = new SharedReads(loadAll, options);
  }

  find(id: Id): Promise<T | undefined> {
    return this.#reads.read(id);
  }
}

/** Shares the result of concurrent reads with the same name. Reads with different names are independent. */
export class NamedReads<T> {
  readonly #byName = new Map<string, SharedReads<undefined, T>>();

  read(name: string, load: () => Promise<T>): Promise<T> {
    let reads = this.#byName.get(name);
    if (reads === undefined) {
      const loadOnce = async (): Promise<() => T> => {
        const result = await load();
        return () => result;
      };
      reads = new SharedReads(loadOnce, { onIdle: () => this.#byName.delete(name) });
      this.#byName.set(name, reads);
    }
    return reads.read(undefined);
  }
}
