/**
 * A linearizability checker: searches for an order of the operations on one object that respects real time and explains
 * every response.
 *
 * Algorithm: Wing and Gong's search ("Testing and verifying concurrent objects", 1993) with Lowe's cache of visited
 * states ("Testing for linearizability", 2017), as etcd's checker uses it. An operation may come next when no other
 * remaining operation ended before it began. Two shortcuts: a read that fits the current state comes next without an
 * alternative; an operation without a response may come at any later time, or never.
 *
 * Linearizability is local (Herlihy and Wing, 1990): a history is linearizable if the history of each object is.
 */

export interface Operation<Request> {
  readonly request: Request;
  readonly startMs: number;
  /** `Infinity` for an operation without a response. */
  readonly endMs: number;
  /** The response in the model's words; undefined when there was none. */
  readonly answer: string | undefined;
  /** Whether it may change the object. Reads and refused operations don't. */
  readonly isWrite: boolean;
}

/** The sequential behaviour of an object. */
export interface Model<State, Request> {
  readonly initial: State;
  step(state: State, request: Request): { readonly state: State; readonly answer: string };
  /** A text that is equal for equal states, and only for those. */
  fingerprint(state: State): string;
}

/** Undecided: the search took too long. */
export type Verdict = 'explained' | 'unexplained' | 'undecided';

const MAX_STEPS = 1_000_000;

/** A node of the search: the operations so far, in any order, and the state that they lead to. */
interface Point<State> {
  readonly state: State;
  /** The operations with a response so far, as bits. */
  readonly done: bigint;
  /** The operations without a response that have happened so far, as bits. */
  readonly happened: bigint;
}

export function linearize<State, Request>(
  model: Model<State, Request>,
  operations: readonly Operation<Request>[],
  maxSteps = MAX_STEPS,
): Verdict {
  return new Search(model, operations, maxSteps).run();
}

class Search<State, Request> {
  readonly #model: Model<State, Request>;
  readonly #answered: readonly Operation<Request>[];
  readonly #unanswered: readonly Operation<Request>[];
  #steps: number;
  /**
   * Open nodes, by how many operations without a response have happened. The fewest come first: most explanations need
   * few, and a state that is reached with few need not be tried with more.
   */
  readonly #open: Point<State>[][] = [];
  /** By responses and state: the operations without a response that led there. */
  readonly #tried = new Map<string, bigint[]>();

  constructor(model: Model<State, Request>, operations: readonly Operation<Request>[], maxSteps: number) {
    const sorted = operations.toSorted((one, other) => one.startMs - other.startMs);
    this.#model = model;
    this.#answered = sorted.filter(({ answer }) => answer !== undefined);
    this.#unanswered = sorted.filter(({ answer }) => answer === undefined);
    this.#steps = maxSteps;
  }

  run(): Verdict {
    this.#open[0] = [{ state: this.#model.initial, done: 0n, happened: 0n }];
    const all = (1n << BigInt(this.#answered.length)) - 1n;
    for (let count = 0; count < this.#open.length; count += 1) {
      for (let point = this.#open[count]?.pop(); point !== undefined; point = this.#open[count]?.pop()) {
        if (this.#steps <= 0) return 'undecided';
        const settled = this.#settle(point);
        if (settled.done === all) return 'explained';
        if (this.#isNew(settled)) this.#goOn(settled, count);
      }
    }
    return 'unexplained';
  }

  /** Adds all reads that fit the state, and the ones that may follow them. */
  #settle(point: Point<State>): Point<State> {
    const { state, happened } = point;
    for (let done = point.done; ; ) {
      const before = done;
      for (const index of this.#next(done).answered) {
        const { request, answer, isWrite } = at(this.#answered, index);
        if (!isWrite && answer === this.#step(state, request).answer) done |= bit(index);
      }
      if (done === before) return { state, done, happened };
    }
  }

  /** Opens every node that one more operation leads to. */
  #goOn({ state, done, happened }: Point<State>, count: number): void {
    const { answered, untilMs } = this.#next(done);
    for (const [index, { request, startMs }] of this.#unanswered.entries()) {
      if (startMs > untilMs || happened & bit(index)) continue;
      const result = this.#step(state, request);
      if (this.#isSame(result.state, state)) continue;
      this.#open[count + 1] ??= [];
      this.#open[count + 1]?.push({ state: result.state, done, happened: happened | bit(index) });
    }
    for (const index of answered) {
      const { request, answer } = at(this.#answered, index);
      const result = this.#step(state, request);
      if (answer === result.answer) this.#open[count]?.push({ state: result.state, done: done | bit(index), happened });
    }
  }

  /** The operations with a response that may come next, and the time by which one of them must. */
  #next(done: bigint): { readonly answered: number[]; readonly untilMs: number } {
    const answered: number[] = [];
    let untilMs = Number.POSITIVE_INFINITY;
    for (const [index, { startMs, endMs }] of this.#answered.entries()) {
      if (done & bit(index)) continue;
      if (startMs > untilMs) break;
      untilMs = Math.min(untilMs, endMs);
      answered.push(index);
    }
    return { answered, untilMs };
  }

  /** Whether no node got as far with the same operations without a response, or fewer of them. */
  #isNew({ state, done, happened }: Point<State>): boolean {
    const name = `${done.toString(36)} ${this.#model.fingerprint(state)}`;
    const tried = this.#tried.get(name) ?? [];
    if (tried.some((fewer) => (fewer & happened) === fewer)) return false;
    this.#tried.set(name, [...tried, happened]);
    return true;
  }

  #isSame(one: State, other: State): boolean {
    return one === other || this.#model.fingerprint(one) === this.#model.fingerprint(other);
  }

  #step(state: State, request: Request) {
    this.#steps -= 1;
    return this.#model.step(state, request);
  }
}

function bit(index: number): bigint {
  return 1n << BigInt(index);
}

function at<T>(all: readonly T[], index: number): T {
  const found = all[index];
  if (found === undefined) throw new Error(`there is nothing at ${index}`);
  return found;
}
