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
  const sorted = operations.toSorted((one, other) => one.startMs - other.startMs);
  const answered = sorted.filter(({ answer }) => answer !== undefined);
  const unanswered = sorted.filter(({ answer }) => answer === undefined);
  let steps = 0;
  const step = (state: State, request: Request) => {
    steps += 1;
    return model.step(state, request);
  };

  /** The operations with a response that may come next, and the time by which one of them must. */
  const next = (done: bigint) => {
    const mayBe: (readonly [index: number, operation: Operation<Request>])[] = [];
    let untilMs = Number.POSITIVE_INFINITY;
    for (const [index, operation] of answered.entries()) {
      if (done & bit(index)) continue;
      if (operation.startMs > untilMs) break;
      untilMs = Math.min(untilMs, operation.endMs);
      mayBe.push([index, operation]);
    }
    return { mayBe, untilMs };
  };

  /** All reads that fit the state come next, and the ones that may follow them. */
  const settle = ({ state, done: before }: Point<State>): bigint => {
    let done = before;
    for (const [index, { request, answer, isWrite }] of next(before).mayBe) {
      if (!isWrite && answer === step(state, request).answer) done |= bit(index);
    }
    return done === before ? done : settle({ state, done, happened: 0n });
  };

  /**
   * Open nodes, by how many operations without a response have happened. The fewest come first: most explanations need
   * few, and a state that is reached with few need not be tried with more.
   */
  const open: Point<State>[][] = [[{ state: model.initial, done: 0n, happened: 0n }]];
  /** By responses and state: the operations without a response that led there. */
  const tried = new Map<string, bigint[]>();
  const all = (1n << BigInt(answered.length)) - 1n;
  for (let count = 0; count < open.length; count += 1) {
    for (let point = open[count]?.pop(); point !== undefined; point = open[count]?.pop()) {
      if (steps > maxSteps) return 'undecided';
      const { state, happened } = point;
      const done = settle(point);
      if (done === all) return 'explained';
      const name = `${done.toString(36)} ${model.fingerprint(state)}`;
      const before = tried.get(name) ?? [];
      if (before.some((fewer) => (fewer & happened) === fewer)) continue;
      tried.set(name, [...before, happened]);
      const { mayBe, untilMs } = next(done);
      for (const [index, { request, startMs }] of unanswered.entries()) {
        if (startMs > untilMs || happened & bit(index)) continue;
        const after = step(state, request).state;
        if (model.fingerprint(after) === model.fingerprint(state)) continue;
        open[count + 1] ??= [];
        open[count + 1]?.push({ state: after, done, happened: happened | bit(index) });
      }
      for (const [index, { request, answer }] of mayBe) {
        const result = step(state, request);
        if (answer === result.answer) open[count]?.push({ state: result.state, done: done | bit(index), happened });
      }
    }
  }
  return 'unexplained';
}

function bit(index: number): bigint {
  return 1n << BigInt(index);
}
