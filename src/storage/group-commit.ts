/**
 * Group commit: writes that wait for the disk together share one transaction, so one fsync.
 *
 * While one group is being committed, new writes queue; the next group takes them all (up to `MAX_GROUP`). Each
 * piece of work runs in a savepoint of its own, so that one's failure never undoes another's. Everybody is
 * answered after the commit, so a success is durable and a refusal rests on durable facts. When the commit itself
 * fails, all of the group fail with its error and nothing of it stays.
 */
import type { IsWanted } from '../model.ts';
import { StoreClosed, WorkAbandoned } from './errors.ts';

/** The most work in one commit: bounds how long the first of a group waits for the last. */
const MAX_GROUP = 256;

/** The transaction commands of one connection, each resolved when the database has carried it out. */
export interface Commands {
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  savepoint(): Promise<void>;
  release(): Promise<void>;
  rollbackToSavepoint(): Promise<void>;
}

interface Work {
  readonly run: () => Promise<unknown>;
  readonly isWanted: IsWanted;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class GroupCommit {
  readonly #commands: Commands;
  readonly #queue: Work[] = [];
  #draining: Promise<void> | undefined;
  #closed = false;

  constructor(commands: Commands) {
    this.#commands = commands;
  }

  submit<T>(run: () => Promise<T>, isWanted: IsWanted): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreClosed());
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ run, isWanted, resolve: resolve as (value: unknown) => void, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Takes no new work and resolves when all that was submitted is settled. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) await this.#commitGroup();
    this.#draining = undefined;
  }

  async #commitGroup(): Promise<void> {
    const group: Work[] = [];
    const answers: (() => void)[] = [];
    try {
      await this.#commands.begin();
      for (let work = this.#queue.shift(); work !== undefined; work = this.#queue.shift()) {
        group.push(work);
        answers.push(await this.#runInSavepoint(work));
        if (group.length === MAX_GROUP) break;
      }
      await this.#commands.commit();
    } catch (error) {
      await this.#commands.rollback().catch(() => undefined); // there may be no transaction left to roll back
      if (group.length === 0) group.push(...this.#queue.splice(0)); // it could not even begin
      for (const work of group) work.reject(error);
      return;
    }
    for (const answer of answers) answer();
  }

  /** Runs one piece of work and says how to answer it once the group is committed. Throws if the connection fails. */
  async #runInSavepoint(work: Work): Promise<() => void> {
    if (!work.isWanted()) return () => work.reject(new WorkAbandoned());
    await this.#commands.savepoint();
    try {
      const value = await work.run();
      await this.#commands.release();
      return () => work.resolve(value);
    } catch (error) {
      await this.#commands.rollbackToSavepoint();
      return () => work.reject(error);
    }
  }
}
