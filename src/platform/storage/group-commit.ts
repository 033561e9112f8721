/**
 * Group commit: writes that wait at the same time share one transaction, and so one fsync.
 *
 * While a group is being committed, new writes queue. The next group takes all of them, up to MAX_GROUP. Callers get
 * their results after the commit, failures too. When the commit fails, or the database becomes unavailable (the disk is
 * full), all writes of the group fail with that error and none is stored.
 *
 * Each transaction runs in a savepoint, so that its failure rolls back only its own changes. Consecutive shareable
 * writes form a batch: they run side by side in one savepoint, and share statements (sqlite-connection.ts). When some
 * of them fail, all are rolled back. Those that succeeded run again, together; those that failed, each by itself.
 */
import type { IsCancelled, Runner } from './engine.ts';
import type { SqliteWriter } from './sqlite-writer.ts';
import { Cancelled, StoreUnavailable } from './store-errors.ts';

/** The maximum number of writes in a commit. It bounds how long the first one waits for the last. */
const MAX_GROUP = 256;

interface Write {
  readonly work: (tx: Runner) => Promise<unknown>;
  readonly isCancelled: IsCancelled | undefined;
  /** Whether it may run side by side with others, and again. */
  readonly isShareable: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Set when the write has run. Its caller gets it after the commit. */
  result?: Promise<unknown>;
}

export class GroupCommit {
  readonly #writer: SqliteWriter;
  readonly #queue: Write[] = [];
  #isDraining = false;
  /** Whether the open transaction has changes since its savepoint. */
  #hasChanges = false;

  constructor(writer: SqliteWriter) {
    this.#writer = writer;
  }

  submit<T>(work: (tx: Runner) => Promise<T>, isCancelled?: IsCancelled, isShareable = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const callbacks = { resolve: resolve as (value: unknown) => void, reject };
      this.#queue.push({ work, isCancelled, isShareable, ...callbacks });
      if (!this.#isDraining) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    while (this.#queue.length > 0) await this.#commitGroup();
    this.#isDraining = false;
  }

  async #commitGroup(): Promise<void> {
    const group: Write[] = [];
    try {
      if (!this.#writer.isIdle) await this.#writer.command('end');
      await this.#writer.command('begin');
      this.#hasChanges = false;
      while (group.length < MAX_GROUP && this.#queue.length > 0) {
        const batch = this.#takeBatch(MAX_GROUP - group.length);
        group.push(...batch);
        await this.#run(batch);
      }
      await this.#writer.command('commit');
    } catch (error) {
      await this.#writer.command('end').catch(() => undefined); // the next group tries again
      if (group.length === 0) group.push(...this.#queue.splice(0)); // the transaction could not begin
      for (const write of group) write.reject(error);
      return;
    }
    for (const write of group) write.resolve(write.result);
  }

  /** Removes the next batch from the queue, at most `limit` writes, without those that are cancelled. */
  #takeBatch(limit: number): readonly Write[] {
    const end = this.#queue.findIndex(({ isShareable }) => !isShareable);
    const length = end === -1 ? this.#queue.length : Math.max(end, 1);
    return this.#queue.splice(0, Math.min(length, limit)).filter((write) => {
      const isCancelled = write.isCancelled?.() === true;
      if (isCancelled) write.reject(new Cancelled());
      return !isCancelled;
    });
  }

  async #run(batch: readonly Write[]): Promise<void> {
    if (batch.length === 0) return;
    if (this.#hasChanges) await this.#writer.command('mark');
    for (const write of batch) write.result = write.work(this.#writer);
    const outcomes = await Promise.allSettled(batch.map(({ result }) => result));
    const failed = batch.filter((_, index) => outcomes[index]?.status === 'rejected');
    this.#hasChanges = failed.length === 0;
    if (failed.length === 0) return;
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected' && outcome.reason instanceof StoreUnavailable) throw outcome.reason;
    }
    await this.#writer.command('undo');
    if (batch.length === 1) return;
    await this.#run(batch.filter((write) => !failed.includes(write)));
    for (const write of failed) await this.#run([write]);
  }
}
