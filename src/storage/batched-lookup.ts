/**
 * Look-ups by id that share their way to the database: while one statement is under way, those that come in wait
 * and go together with the next, each id once. A single look-up is not delayed; many at a time cost one trip.
 *
 * A slow statement holds nobody up for long: those that wait go beside it then, in so many statements at the most.
 *
 * A look-up never sees a statement that began before it was asked for, so a caller always reads its own writes.
 */
interface Waiting<T> {
  readonly resolve: (row: T | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Ids in one statement at the most. */
const MAX_BATCH = 500;
/** How long those that wait let a statement go on alone, and how many are under way at the most. */
const SLOW_MS = 20;
const MAX_LOADS = 3;

export class BatchedLookup<T extends { readonly id: Id }, Id = bigint> {
  readonly #load: (ids: readonly Id[]) => Promise<readonly T[]>;
  #waiting = new Map<Id, Waiting<T>[]>();
  #underWay = 0;
  /** The load that those that come in wait for; undefined when there is none, or when it is slow. */
  #awaited: object | undefined;

  constructor(load: (ids: readonly Id[]) => Promise<readonly T[]>) {
    this.#load = load;
  }

  find(id: Id): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const others = this.#waiting.get(id);
      if (others === undefined) this.#waiting.set(id, [{ resolve, reject }]);
      else others.push({ resolve, reject });
      this.#loadNext();
    });
  }

  #loadNext(): void {
    if (this.#awaited !== undefined || this.#underWay === MAX_LOADS || this.#waiting.size === 0) return;
    const load = {};
    const goOn = () => {
      if (this.#awaited === load) this.#awaited = undefined;
      this.#loadNext();
    };
    this.#awaited = load;
    this.#underWay += 1;
    const timer = setTimeout(goOn, SLOW_MS);
    void this.#loadBatch(this.#nextBatch()).then(() => {
      clearTimeout(timer);
      this.#underWay -= 1;
      goOn();
    });
  }

  #nextBatch(): Map<Id, Waiting<T>[]> {
    if (this.#waiting.size <= MAX_BATCH) {
      const all = this.#waiting;
      this.#waiting = new Map();
      return all;
    }
    const batch = new Map([...this.#waiting].slice(0, MAX_BATCH));
    for (const id of batch.keys()) this.#waiting.delete(id);
    return batch;
  }

  async #loadBatch(batch: Map<Id, Waiting<T>[]>): Promise<void> {
    try {
      for (const row of await this.#load([...batch.keys()])) {
        for (const { resolve } of batch.get(row.id) ?? []) resolve(row);
        batch.delete(row.id);
      }
      for (const waiting of batch.values()) for (const { resolve } of waiting) resolve(undefined);
    } catch (error) {
      for (const waiting of batch.values()) for (const { reject } of waiting) reject(error);
    }
  }
}
