/** Work under way on what is to be closed one day: none is begun after that, and closing waits for all of it. */
import { StoreClosed } from './store-errors.ts';

export class OpenWork {
  #underWay = 0;
  #closed: PromiseWithResolvers<void> | undefined;

  /** @throws StoreClosed after `close`. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) throw new StoreClosed();
    this.#underWay += 1;
    try {
      return await work();
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) (this.#closed as PromiseWithResolvers<void> | undefined)?.resolve();
    }
  }

  /** Takes no new work, and resolves when what is under way is done. */
  close(): Promise<void> {
    this.#closed ??= Promise.withResolvers();
    if (this.#underWay === 0) this.#closed.resolve();
    return this.#closed.promise;
  }
}
