/**
 * Group commit: writes that wait at the same time share one transaction, and so one fsync.
 *
 * While a group is being committed, new writes queue. The next group takes all of them, up to MAX_GROUP. Each write
 * runs in a savepoint, so that a failing write rolls back only its own changes. A single statement needs no savepoint,
 * since the database itself undoes a statement that fails. Callers get their results after the commit, failures too.
 * When the commit fails, or the database becomes unavailable (the disk is full), all writes of the group fail with that
 * error and none is stored.
 *
 * Consecutive writes of the same shareable statement form a batch, which runs once. When a batch fails, each of its
 * writes runs by itself. When the queue holds one batch and nothing else, it runs without BEGIN and COMMIT, in one trip
 * to the database's thread. That fails while another process has the file locked: then the batch goes back to the queue
 * and runs in a transaction, whose beginning waits for the lock.
 */
import type { Row } from './fields.ts';
import type { IsCancelled } from './model.ts';
import type { Params, Statement } from './statement.ts';
import { Cancelled, StoreUnavailable } from './store-errors.ts';

/** The maximum number of writes in a commit. It bounds how long the first one waits for the last. */
const MAX_GROUP = 256;

/** The transaction commands of a connection, each one trip to its thread. A transaction always has a savepoint. */
export interface TransactionCommands {
  /** Begins a transaction and sets the savepoint. */
  begin(): Promise<void>;
  /** Keeps the changes since the savepoint, and sets a new one. */
  next(): Promise<void>;
  /** Rolls back to the savepoint, which stays. */
  undo(): Promise<void>;
  /** Commits everything. */
  commit(): Promise<void>;
  rollback(): Promise<void>;
  /** Runs a statement for these callers: one, or several if it can be shared. Resolves with the rows of each. */
  run(statement: Statement, callers: readonly Params[]): Promise<readonly (readonly Row[])[]>;
  /** Whether a statement failed because another process has the database locked. */
  isLocked(error: unknown): boolean;
}

/** Observes the queue and successful commits, for metrics. */
export interface CommitListener {
  /** A write leaves the queue. */
  onTurn(waitedMs: number): void;
  onCommitted(writes: number, tookMs: number): void;
}

interface Write {
  /** When it was queued; 0 without a listener. */
  readonly sinceMs: number;
  /** Runs the write for all of these callers, and resolves with the result of each. */
  readonly run: (callers: readonly Params[]) => Promise<readonly unknown[]>;
  readonly params: Params;
  readonly isCancelled: IsCancelled | undefined;
  /** Set when the write is a single statement. */
  readonly statement: Statement | undefined;
  /** False once a batch with this write has failed. */
  isBatchable: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = PromiseSettledResult<readonly unknown[]>;

export class GroupCommit {
  readonly #commands: TransactionCommands;
  readonly #listener: CommitListener | undefined;
  readonly #queue: Write[] = [];
  #isDraining = false;
  /** The last batch without a transaction found the database locked. */
  #isLocked = false;

  constructor(commands: TransactionCommands, listener?: CommitListener) {
    this.#commands = commands;
    this.#listener = listener;
  }

  submit<T>(work: () => Promise<T>, isCancelled?: IsCancelled): Promise<T> {
    return this.#enqueue(async () => [await work()], {}, isCancelled, undefined);
  }

  submitStatement(statement: Statement, params: Params, isCancelled?: IsCancelled): Promise<readonly Row[]> {
    return this.#enqueue((callers) => this.#commands.run(statement, callers), params, isCancelled, statement);
  }

  #enqueue<T>(
    run: (callers: readonly Params[]) => Promise<readonly T[]>,
    params: Params,
    isCancelled: IsCancelled | undefined,
    statement: Statement | undefined,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const sinceMs = this.#listener === undefined ? 0 : performance.now();
      const callbacks = { resolve: resolve as (value: unknown) => void, reject };
      this.#queue.push({ run, params, isCancelled, statement, isBatchable: true, sinceMs, ...callbacks });
      if (!this.#isDraining) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    while (this.#queue.length > 0) {
      await (this.#canRunWithoutTransaction() ? this.#runWithoutTransaction() : this.#commitGroup());
    }
    this.#isDraining = false;
  }

  #canRunWithoutTransaction(): boolean {
    return !this.#isLocked && this.#queue[0]?.statement !== undefined && this.#batchLength() === this.#queue.length;
  }

  async #runWithoutTransaction(): Promise<void> {
    const beganMs = performance.now();
    const { batch, cancelled } = this.#takeBatch(MAX_GROUP);
    rejectCancelled(cancelled);
    if (batch.length === 0) return;
    const outcome = await run(batch);
    const error = outcome.status === 'rejected' ? outcome.reason : undefined;
    this.#isLocked = this.#commands.isLocked(error);
    if (this.#isLocked) {
      this.#queue.unshift(...batch);
    } else if (error instanceof StoreUnavailable) {
      settle(batch, outcome);
    } else if (outcome.status === 'rejected' && batch.length > 1) {
      this.#requeueSeparately(batch);
    } else {
      this.#listener?.onCommitted(batch.length, performance.now() - beganMs);
      settle(batch, outcome);
    }
  }

  async #commitGroup(): Promise<void> {
    const beganMs = performance.now();
    const group: Write[] = [];
    const settleAll: (() => void)[] = [];
    this.#isLocked = false;
    try {
      await this.#commands.begin();
      await this.#runQueued(group, settleAll);
      await this.#commands.commit();
      this.#listener?.onCommitted(group.length, performance.now() - beganMs);
    } catch (error) {
      await this.#commands.rollback().catch(() => undefined); // the transaction may have ended already
      if (group.length === 0) group.push(...this.#queue.splice(0)); // the transaction could not begin
      for (const write of group) write.reject(error);
      return;
    }
    for (const settleBatch of settleAll) settleBatch();
  }

  /**
   * Runs queued writes in the open transaction. Adds them to `group`, and adds to `settleAll` what settles their
   * promises after the commit.
   */
  async #runQueued(group: Write[], settleAll: (() => void)[]): Promise<void> {
    let isSavepointFresh = true;
    while (group.length < MAX_GROUP && this.#queue.length > 0) {
      const { batch, cancelled } = this.#takeBatch(MAX_GROUP - group.length);
      group.push(...cancelled, ...batch);
      settleAll.push(() => rejectCancelled(cancelled));
      const [first] = batch;
      if (first === undefined) continue;
      const isStatement = first.statement !== undefined;
      if (!isSavepointFresh && !isStatement) await this.#commands.next();
      const outcome = await run(batch);
      const hasFailed = outcome.status === 'rejected';
      if (hasFailed) await this.#recover(outcome.reason, isStatement);
      isSavepointFresh = hasFailed;
      if (hasFailed && batch.length > 1) this.#requeueSeparately(group.splice(-batch.length));
      else settleAll.push(() => settle(batch, outcome));
    }
  }

  /** After some failures SQLite has ended the transaction. Then `next` and `undo` fail, and so does the whole group. */
  async #recover(error: unknown, isStatement: boolean): Promise<void> {
    if (error instanceof StoreUnavailable) throw error;
    await (isStatement ? this.#commands.next() : this.#commands.undo());
  }

  /** The number of writes at the head of the queue that can run as one batch. */
  #batchLength(): number {
    const [first] = this.#queue;
    if (first?.statement?.shared === undefined || !first.isBatchable) return Math.min(this.#queue.length, 1);
    const end = this.#queue.findIndex((write) => write.statement !== first.statement || !write.isBatchable);
    return end === -1 ? this.#queue.length : end;
  }

  /** Removes the next batch from the queue, at most `limit` writes. */
  #takeBatch(limit: number): { batch: Write[]; cancelled: Write[] } {
    const [batch, cancelled]: [Write[], Write[]] = [[], []];
    for (const write of this.#queue.splice(0, Math.min(this.#batchLength(), limit))) {
      this.#listener?.onTurn(performance.now() - write.sinceMs);
      (write.isCancelled?.() === true ? cancelled : batch).push(write);
    }
    return { batch, cancelled };
  }

  #requeueSeparately(batch: readonly Write[]): void {
    for (const write of batch) write.isBatchable = false;
    this.#queue.unshift(...batch);
  }
}

/** Runs the first write of a batch for all of its callers. */
async function run(batch: readonly Write[]): Promise<Outcome> {
  const params = batch.map((write) => write.params);
  const [outcome] = await Promise.allSettled([batch[0]?.run(params) ?? []]);
  return outcome;
}

function settle(batch: readonly Write[], outcome: Outcome): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    if (outcome.status === 'fulfilled') resolve(outcome.value[index]);
    else reject(outcome.reason);
  }
}

function rejectCancelled(writes: readonly Write[]): void {
  for (const write of writes) write.reject(new Cancelled());
}
