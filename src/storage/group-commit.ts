/**
 * Group commit: writes that wait for the disk together share one transaction, so one fsync.
 *
 * While one group is being committed, new writes queue; the next group takes them all (up to `MAX_GROUP`). Each
 * piece of work runs in a savepoint of its own, so that one's failure never undoes another's. A single statement needs
 * none: the database itself undoes one that fails. Everybody is answered after the commit, so a success is durable and
 * a refusal rests on durable facts. When the commit itself fails, or the database goes away in the midst (the disk is
 * full), all of the group fail with its error and nothing of it stays.
 *
 * Those in a row that want the same statement, if it can be shared, share one run of it. When that fails each of them is
 * run alone. Where nothing else waits the statement is a transaction by itself: the whole group takes one trip. While
 * another process has the database locked that fails, and the group begins a transaction, which waits for it.
 */
import type { IsCancelled } from '../model.ts';
import type { Row } from './row.ts';
import type { Params, Statement } from './statement.ts';
import { Cancelled, StoreUnavailable } from './store-errors.ts';

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
  /** Runs a statement for these callers: one, or several if it can be shared. Resolves with the rows of each. */
  run(statement: Statement, callers: readonly Params[]): Promise<readonly (readonly Row[])[]>;
  /** Whether a statement was not run because another process has the database locked. */
  isLocked(error: unknown): boolean;
}

/** Is told of commits that have succeeded, and of each write as its turn comes. */
export interface CommitListener {
  onTurn(waitedMs: number): void;
  onCommitted(writes: number, tookMs: number): void;
}

interface Work {
  /** When it was submitted, if anybody asks. */
  readonly sinceMs: number;
  /** Does it for all of these callers, and resolves with the result of each. */
  readonly run: (callers: readonly Params[]) => Promise<readonly unknown[]>;
  readonly params: Params;
  readonly isCancelled: IsCancelled | undefined;
  /** There when it is one statement, which is undone by the database when it fails. */
  readonly statement: Statement | undefined;
  /** It has failed together with others. */
  isAlone: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class GroupCommit {
  readonly #commands: Commands;
  readonly #listener: CommitListener | undefined;
  readonly #queue: Work[] = [];
  #isDraining = false;
  /** The last statement by itself found the database locked. */
  #isLocked = false;

  constructor(commands: Commands, listener?: CommitListener) {
    this.#commands = commands;
    this.#listener = listener;
  }

  submit<T>(work: () => Promise<T>, isCancelled?: IsCancelled): Promise<T> {
    return this.#enqueue(async () => [await work()], {}, isCancelled, undefined);
  }

  /** Submits one statement and nothing else. */
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
      const settle = { resolve: resolve as (value: unknown) => void, reject };
      this.#queue.push({ run, params, isCancelled, statement, isAlone: false, sinceMs, ...settle });
      if (!this.#isDraining) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    while (this.#queue.length > 0) await (this.#isOneRun() ? this.#runByItself() : this.#commitGroup());
    this.#isDraining = false;
  }

  /** Whether all that waits is one run of a statement, and the database is not known to be locked. */
  #isOneRun(): boolean {
    return !this.#isLocked && this.#queue[0]?.statement !== undefined && this.#countTogether() === this.#queue.length;
  }

  /** Runs a statement that is a transaction by itself. */
  async #runByItself(): Promise<void> {
    const beganMs = performance.now();
    const { batch, cancelled } = this.#takeBatch(MAX_GROUP);
    for (const work of cancelled) work.reject(new Cancelled());
    if (batch.length === 0) return;
    const outcome = await run(batch);
    const error = outcome.status === 'rejected' ? outcome.reason : undefined;
    this.#isLocked = this.#commands.isLocked(error);
    if (this.#isLocked) {
      this.#queue.unshift(...batch);
    } else if (error instanceof StoreUnavailable) {
      answer(batch, outcome);
    } else if (outcome.status === 'rejected' && batch.length > 1) {
      this.#queue.unshift(...batch.map(alone));
    } else {
      this.#listener?.onCommitted(batch.length, performance.now() - beganMs);
      answer(batch, outcome);
    }
  }

  async #commitGroup(): Promise<void> {
    const group: Work[] = [];
    const answers: (() => void)[] = [];
    const beganMs = performance.now();
    this.#isLocked = false;
    let isFresh = true; // nothing has been done in the savepoint that is open
    try {
      await this.#commands.begin();
      while (group.length < MAX_GROUP && this.#queue.length > 0) {
        const { batch, cancelled } = this.#takeBatch(MAX_GROUP - group.length);
        group.push(...cancelled, ...batch);
        answers.push(() => cancelled.map((work) => work.reject(new Cancelled())));
        const [first] = batch;
        if (first === undefined) continue;
        const isStatement = first.statement !== undefined;
        if (!isFresh && !isStatement) await this.#commands.next();
        const outcome = await run(batch);
        const hasFailed = outcome.status === 'rejected';
        if (hasFailed && outcome.reason instanceof StoreUnavailable) throw outcome.reason; // no transaction may be left
        // After some failures no transaction is left, and `next` fails: what came before must not count as kept.
        if (hasFailed) await (isStatement ? this.#commands.next() : this.#commands.undo());
        isFresh = hasFailed;
        if (hasFailed && batch.length > 1) this.#queue.unshift(...group.splice(-batch.length).map(alone));
        else answers.push(() => answer(batch, outcome));
      }
      await this.#commands.commit();
      this.#listener?.onCommitted(group.length, performance.now() - beganMs);
    } catch (error) {
      await this.#commands.rollback().catch(() => undefined); // there may be none left to roll back
      if (group.length === 0) group.push(...this.#queue.splice(0)); // it could not even begin
      for (const work of group) work.reject(error);
      return;
    }
    for (const give of answers) give();
  }

  /** How many at the head of the queue are done by one run. */
  #countTogether(): number {
    const [first] = this.#queue;
    if (first?.statement?.shared === undefined || first.isAlone) return Math.min(this.#queue.length, 1);
    const end = this.#queue.findIndex(({ statement, isAlone }) => statement !== first.statement || isAlone);
    return end === -1 ? this.#queue.length : end;
  }

  /** Takes those at the head of the queue that are done by one run, `room` at the most. */
  #takeBatch(room: number): { batch: Work[]; cancelled: Work[] } {
    const [batch, cancelled]: [Work[], Work[]] = [[], []];
    for (const work of this.#queue.splice(0, Math.min(this.#countTogether(), room))) {
      this.#listener?.onTurn(performance.now() - work.sinceMs);
      (work.isCancelled?.() === true ? cancelled : batch).push(work);
    }
    return { batch, cancelled };
  }
}

function alone(work: Work): Work {
  work.isAlone = true;
  return work;
}

/** Does the work of a batch, which is that of its first, for all of its callers. */
async function run(batch: readonly Work[]): Promise<PromiseSettledResult<readonly unknown[]>> {
  const params = batch.map((work) => work.params);
  const [outcome] = await Promise.allSettled([batch[0]?.run(params) ?? []]);
  return outcome;
}

function answer(batch: readonly Work[], outcome: PromiseSettledResult<readonly unknown[]>): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    if (outcome.status === 'fulfilled') resolve(outcome.value[index]);
    else reject(outcome.reason);
  }
}
