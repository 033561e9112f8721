/** Counts the calls in progress, so that closing can refuse new ones and wait for the rest. */
import { StoreClosed } from './store-errors.ts';

export class OpenCalls {
  #count = 0;
  #isClosed = false;
  readonly #drained = Promise.withResolvers<void>();

  /** @throws StoreClosed after `close`. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new StoreClosed();
    this.#count += 1;
    try {
      return await call();
    } finally {
      this.#count -= 1;
      this.#resolveIfDrained();
    }
  }

  /** Refuses new calls, and resolves when those in progress have ended. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#resolveIfDrained();
    return this.#drained.promise;
  }

  #resolveIfDrained(): void {
    if (this.#isClosed && this.#count === 0) this.#drained.resolve();
  }
}
