/**
 * Group commit: writes that wait at the same time share one transaction, and so one fsync.
 *
 * While a group is being committed, new writes queue. The next group takes all of them, up to MAX_GROUP. Callers get
 * their results after the commit, failures too. When the commit fails, or the database becomes unavailable (the disk is
 * full), all writes of the group fail with that error and none is stored.
 *
 * Each transaction runs in a savepoint, so that its failure rolls back only its own changes. A single statement needs
 * none, since the database itself undoes a statement that fails. Consecutive writes of the same shareable statement
 * form a batch, which runs once. When a batch fails, each of its writes runs by itself.
 */
import type { Row } from './fields.ts';
import type { IsCancelled } from './model.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import type { Params, Statement } from './statement.ts';
import { Cancelled, StoreUnavailable } from './store-errors.ts';

/** The maximum number of writes in a commit. It bounds how long the first one waits for the last. */
const MAX_GROUP = 256;

/** Commands of one trip to the database's thread each. BEGIN waits for another process's lock. */
const BEGIN = 'BEGIN IMMEDIATE; SAVEPOINT work';
const NEW_SAVEPOINT = 'RELEASE work; SAVEPOINT work';
const UNDO = 'ROLLBACK TO work';
const COMMIT = 'RELEASE work; COMMIT';

/** Observes the queue and successful commits, for metrics. */
export interface CommitListener {
  /** A write leaves the queue. */
  onTurn(waitedMs: number): void;
  onCommitted(writes: number, tookMs: number): void;
}

interface Write {
  readonly queuedMs: number;
  /** Runs the write for all of these callers, and resolves with the result of each. */
  readonly run: (callers: readonly Params[]) => Promise<readonly unknown[]>;
  readonly params: Params;
  readonly isCancelled: IsCancelled | undefined;
  /** Set when the write is a single statement. */
  readonly statement: Statement | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Gives the caller the result; set when the write has run. */
  settle?: () => void;
}

export class GroupCommit {
  readonly #connection: SqliteConnection;
  readonly #listener: CommitListener | undefined;
  readonly #queue: Write[] = [];
  #isDraining = false;
  /** Whether the open transaction has changes since its savepoint. */
  #hasChanges = false;

  constructor(connection: SqliteConnection, listener?: CommitListener) {
    this.#connection = connection;
    this.#listener = listener;
  }

  submit<T>(work: () => Promise<T>, isCancelled?: IsCancelled): Promise<T> {
    return this.#enqueue(async () => [await work()], {}, isCancelled);
  }

  submitStatement(statement: Statement, params: Params, isCancelled?: IsCancelled): Promise<readonly Row[]> {
    return this.#enqueue((callers) => this.#connection.allFor(statement, callers), params, isCancelled, statement);
  }

  #enqueue<T>(
    run: (callers: readonly Params[]) => Promise<readonly T[]>,
    params: Params,
    isCancelled?: IsCancelled,
    statement?: Statement,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const callbacks = { resolve: resolve as (value: unknown) => void, reject };
      this.#queue.push({ run, params, isCancelled, statement, queuedMs: performance.now(), ...callbacks });
      if (!this.#isDraining) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    while (this.#queue.length > 0) await this.#commitGroup();
    this.#isDraining = false;
  }

  async #commitGroup(): Promise<void> {
    const beganMs = performance.now();
    const group: Write[] = [];
    try {
      await this.#connection.exec(BEGIN);
      this.#hasChanges = false;
      while (group.length < MAX_GROUP && this.#queue.length > 0) {
        const batch = this.#takeBatch(MAX_GROUP - group.length);
        group.push(...batch);
        await this.#run(batch);
      }
      await this.#connection.exec(COMMIT);
      this.#listener?.onCommitted(group.length, performance.now() - beganMs);
    } catch (error) {
      await this.#connection.exec('ROLLBACK').catch(() => undefined); // the transaction may have ended already
      if (group.length === 0) group.push(...this.#queue.splice(0)); // the transaction could not begin
      for (const write of group) write.reject(error);
      return;
    }
    for (const write of group) write.settle?.();
  }

  /** Removes the next batch from the queue, at most `limit` writes, without those that are cancelled. */
  #takeBatch(limit: number): readonly Write[] {
    const [first] = this.#queue;
    const end = this.#queue.findIndex(({ statement }) => !statement?.shared || statement !== first?.statement);
    const length = end === -1 ? this.#queue.length : Math.max(end, 1);
    return this.#queue.splice(0, Math.min(length, limit)).filter((write) => {
      this.#listener?.onTurn(performance.now() - write.queuedMs);
      const isCancelled = write.isCancelled?.() === true;
      if (isCancelled) write.reject(new Cancelled());
      return !isCancelled;
    });
  }

  /** Runs a batch in the open transaction. After some failures SQLite has ended that: the next command fails then. */
  async #run(batch: readonly Write[]): Promise<void> {
    const [first] = batch;
    if (first === undefined) return;
    const isStatement = first.statement !== undefined;
    if (this.#hasChanges && !isStatement) await this.#connection.exec(NEW_SAVEPOINT);
    try {
      const results = await first.run(batch.map(({ params }) => params));
      for (const [index, write] of batch.entries()) write.settle = () => write.resolve(results[index]);
      this.#hasChanges = true;
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      await this.#connection.exec(isStatement ? NEW_SAVEPOINT : UNDO);
      this.#hasChanges = false;
      if (batch.length === 1) first.settle = () => first.reject(error);
      else for (const write of batch) await this.#run([write]);
    }
  }
}
