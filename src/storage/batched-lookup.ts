/**
 * Look-ups by id that share their way to the database: while one statement is under way, those that come in wait
 * and go together with the next, each id once. A single look-up is not delayed; many at a time cost one trip.
 *
 * A look-up never sees a statement that began before it was asked for, so a caller always reads its own writes.
 */
interface Waiting<T> {
  readonly resolve: (row: T | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Ids in one statement at the most. */
const MAX_BATCH = 500;

export class BatchedLookup<T extends { readonly id: Id }, Id = bigint> {
  readonly #load: (ids: readonly Id[]) => Promise<readonly T[]>;
  #waiting = new Map<Id, Waiting<T>[]>();
  #isLoading = false;

  constructor(load: (ids: readonly Id[]) => Promise<readonly T[]>) {
    this.#load = load;
  }

  find(id: Id): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const others = this.#waiting.get(id);
      if (others === undefined) this.#waiting.set(id, [{ resolve, reject }]);
      else others.push({ resolve, reject });
      if (!this.#isLoading) void this.#loadAll();
    });
  }

  async #loadAll(): Promise<void> {
    this.#isLoading = true;
    while (this.#waiting.size > 0) await this.#loadBatch(this.#nextBatch());
    this.#isLoading = false;
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
