/**
 * Group commit: writes that wait for the disk together share one transaction, so one fsync.
 *
 * While one group is being committed, new writes queue; the next group takes them all (up to `MAX_GROUP`). Each
 * piece of work runs in a savepoint of its own, so that one's failure never undoes another's. A single statement needs
 * none: the database itself undoes one that fails. Everybody is answered after the commit, so a success is durable and
 * a refusal rests on durable facts. When the commit itself fails, or the database goes away in the midst (the disk is
 * full), all of the group fail with its error and nothing of it stays.
 */
import type { IsWanted } from '../model.ts';
import { StoreUnavailable, WorkAbandoned } from './errors.ts';

/** The most work in one commit: bounds how long the first of a group waits for the last. */
const MAX_GROUP = 256;

/**
 * The commands of one connection's transactions, each a single trip to the database. A savepoint is always open in a
 * transaction: the one that the next piece of work runs in, or the last one ran in.
 */
export interface Commands {
  /** Begins a transaction and opens a savepoint. */
  begin(): Promise<void>;
  /** Keeps what was done in the savepoint, and opens a new one. */
  next(): Promise<void>;
  /** Undoes what was done in the savepoint, which stays open. */
  undo(): Promise<void>;
  /** Keeps what was done in the savepoint, and commits. */
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** Is told of commits that have succeeded, and of each write as its turn comes. */
export interface CommitListener {
  onTurn(waitedMs: number): void;
  onCommitted(writes: number, tookMs: number): void;
}

interface Work {
  /** When it was submitted, if anybody asks. */
  readonly sinceMs: number;
  readonly run: () => Promise<unknown>;
  readonly isWanted: IsWanted;
  /** One statement, which is undone by the database when it fails. */
  readonly isStatement: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class GroupCommit {
  readonly #commands: Commands;
  readonly #listener: CommitListener | undefined;
  readonly #queue: Work[] = [];
  #isDraining = false;

  constructor(commands: Commands, listener?: CommitListener) {
    this.#commands = commands;
    this.#listener = listener;
  }

  submit<T>(run: () => Promise<T>, isWanted: IsWanted): Promise<T> {
    return this.#enqueue(run, isWanted, false);
  }

  /** Submits what runs one statement and nothing else. */
  submitStatement<T>(run: () => Promise<T>, isWanted: IsWanted): Promise<T> {
    return this.#enqueue(run, isWanted, true);
  }

  #enqueue<T>(run: () => Promise<T>, isWanted: IsWanted, isStatement: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const sinceMs = this.#listener === undefined ? 0 : performance.now();
      this.#queue.push({ run, isWanted, isStatement, sinceMs, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#isDraining) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    while (this.#queue.length > 0) await this.#commitGroup();
    this.#isDraining = false;
  }

  async #commitGroup(): Promise<void> {
    const group: Work[] = [];
    const answers: (() => void)[] = [];
    const beganMs = performance.now();
    let isFresh = true; // nothing has been done in the savepoint that is open
    try {
      await this.#commands.begin();
      while (group.length < MAX_GROUP) {
        const work = this.#queue.shift();
        if (work === undefined) break;
        group.push(work);
        this.#listener?.onTurn(performance.now() - work.sinceMs);
        if (!work.isWanted()) {
          answers.push(() => work.reject(new WorkAbandoned()));
          continue;
        }
        if (!isFresh && !work.isStatement) await this.#commands.next();
        const outcome = await settle(work.run());
        const hasFailed = outcome.status === 'rejected';
        if (hasFailed && outcome.reason instanceof StoreUnavailable) throw outcome.reason; // no transaction may be left
        // After some failures no transaction is left, and `next` fails: what came before must not count as kept.
        if (hasFailed) await (work.isStatement ? this.#commands.next() : this.#commands.undo());
        isFresh = hasFailed;
        answers.push(() => answer(work, outcome));
      }
      await this.#commands.commit();
      this.#listener?.onCommitted(group.length, performance.now() - beganMs);
    } catch (error) {
      await this.#commands.rollback().catch(() => undefined); // there may be no transaction left to roll back
      if (group.length === 0) group.push(...this.#queue.splice(0)); // it could not even begin
      for (const work of group) work.reject(error);
      return;
    }
    for (const give of answers) give();
  }
}

async function settle(work: Promise<unknown>): Promise<PromiseSettledResult<unknown>> {
  const [outcome] = await Promise.allSettled([work]);
  return outcome;
}

function answer({ resolve, reject }: Work, outcome: PromiseSettledResult<unknown>): void {
  if (outcome.status === 'fulfilled') resolve(outcome.value);
  else reject(outcome.reason);
}
