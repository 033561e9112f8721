/**
 * Reads that share their way to the database: while one trip is under way, those that come in wait and go together
 * with the next. A single read is not delayed; many at a time cost one trip.
 *
 * A slow trip holds nobody up for long: those that wait go beside it then, in so many trips at the most. Whoever has
 * waited for all of these, because the database does not answer, is refused and does not wait for a trip of its own.
 *
 * A read never sees a statement that began before it was asked for, so a caller always reads its own writes.
 */
import { StoreUnavailable } from './store-errors.ts';

interface Waiting<Key, T> {
  readonly key: Key;
  readonly sinceMs: number;
  readonly resolve: (result: T) => void;
  readonly reject: (error: unknown) => void;
}

/** Reads in one trip at the most. */
const MAX_BATCH = 500;
/** How long those that wait let a trip go on alone, and how many are under way at the most. */
const SLOW_MS = 20;
const MAX_TRIPS = 3;
/** Who waits longer than this for others is refused. */
const MAX_WAIT_MS = 5_000;

/** Makes one trip for all of these keys, each once. Resolves with what gives each key its result. */
type Load<Key, T> = (keys: readonly Key[]) => Promise<(key: Key) => T>;

interface Options {
  /** Told when nothing is under way any more. */
  readonly onIdle?: () => void;
  readonly nowMs?: () => number;
}

class SharedReads<Key, T> {
  readonly #load: Load<Key, T>;
  readonly #onIdle: () => void;
  readonly #nowMs: () => number;
  #waiting: Waiting<Key, T>[] = [];
  #underWay = 0;
  /** The trip that those that come in wait for; undefined when there is none, or when it is slow. */
  #awaited: object | undefined;

  constructor(load: Load<Key, T>, { onIdle = () => undefined, nowMs = () => performance.now() }: Options = {}) {
    this.#load = load;
    this.#onIdle = onIdle;
    this.#nowMs = nowMs;
  }

  read(key: Key): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, sinceMs: this.#nowMs(), resolve, reject });
      this.#loadNext();
    });
  }

  #loadNext(): void {
    if (this.#awaited !== undefined || this.#underWay === MAX_TRIPS) return;
    this.#refuseLate();
    if (this.#waiting.length === 0) return;
    const trip = {};
    const goOn = () => {
      if (this.#awaited === trip) this.#awaited = undefined;
      this.#loadNext();
    };
    this.#awaited = trip;
    this.#underWay += 1;
    const timer = setTimeout(goOn, SLOW_MS);
    void this.#loadBatch(this.#waiting.splice(0, MAX_BATCH)).then(() => {
      clearTimeout(timer);
      this.#underWay -= 1;
      goOn();
      if (this.#underWay === 0) this.#onIdle();
    });
  }

  /** The first in the queue is the one that has waited longest. */
  #refuseLate(): void {
    const lateMs = this.#nowMs() - MAX_WAIT_MS;
    while (this.#waiting[0] !== undefined && this.#waiting[0].sinceMs < lateMs) {
      this.#waiting.shift()?.reject(new StoreUnavailable('the database is too slow to be read'));
    }
  }

  async #loadBatch(batch: readonly Waiting<Key, T>[]): Promise<void> {
    try {
      const resultOf = await this.#load([...new Set(batch.map(({ key }) => key))]);
      for (const { key, resolve } of batch) resolve(resultOf(key));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

/** Look-ups by id that share statements, each of which asks for many ids. */
export class BatchedLookup<T extends { readonly id: Id }, Id = bigint> {
  readonly #reads: SharedReads<Id, T | undefined>;

  constructor(load: (ids: readonly Id[]) => Promise<readonly T[]>, options?: Pick<Options, 'nowMs'>) {
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

/** Reads with a name: those of the same name share their result. None waits for those of another name. */
export class NamedReads<T> {
  readonly #byName = new Map<string, SharedReads<undefined, T>>();

  read(name: string, load: () => Promise<T>): Promise<T> {
    let reads = this.#byName.get(name);
    if (reads === undefined) {
      const share = async (): Promise<() => T> => {
        const result = await load();
        return () => result;
      };
      reads = new SharedReads(share, { onIdle: () => this.#byName.delete(name) });
      this.#byName.set(name, reads);
    }
    return reads.read(undefined);
  }
}
