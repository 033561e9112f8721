/**
 * Finds the shortest part of a history that is not linearizable.
 *
 * Each step removes a constraint, so a result that can't be explained proves that the history can't be either: later
 * operations and reads are dropped, and writes lose their responses.
 */
import { linearize, type Model, type Operation } from './linearize.ts';

export interface Shrunk<O> {
  /** Ordered by their beginnings. */
  readonly operations: readonly O[];
  /** The number of other writes. Whether they happened or not, nothing explains the responses. */
  readonly others: number;
}

/** `operations` must not be linearizable. */
export function shrink<State, Request, O extends Operation<Request>>(
  model: Model<State, Request>,
  operations: readonly O[],
): Shrunk<O> {
  const isUnexplained = (some: readonly O[]) => linearize(model, some) === 'unexplained';
  let left = shortestPrefix(operations, isUnexplained);
  for (const operation of left.filter(({ isWrite }) => !isWrite)) {
    const without = left.filter((one) => one !== operation);
    if (isUnexplained(without)) left = without;
  }
  const doubted = new Set<O>();
  for (const operation of left.filter(({ isWrite, answer }) => isWrite && answer !== undefined)) {
    const unanswered = { ...operation, endMs: Number.POSITIVE_INFINITY, answer: undefined };
    const weaker = left.map((one) => (one === operation ? unanswered : one));
    if (!isUnexplained(weaker)) continue;
    left = weaker;
    doubted.add(unanswered);
  }
  const shown = left.filter((one) => !doubted.has(one));
  return { operations: shown.toSorted((one, other) => one.startMs - other.startMs), others: doubted.size };
}

/** Cuts the history at each response in turn. Open operations lose their responses. */
function shortestPrefix<Request, O extends Operation<Request>>(
  operations: readonly O[],
  isUnexplained: (some: readonly O[]) => boolean,
): O[] {
  const ends = operations.map(({ endMs }) => endMs).filter(Number.isFinite);
  const upTo = (momentMs: number): O[] =>
    operations
      .filter(({ startMs }) => startMs <= momentMs)
      .map((one) => (one.endMs <= momentMs ? one : { ...one, endMs: Number.POSITIVE_INFINITY, answer: undefined }));
  let [least, most] = [0, ends.length - 1];
  const sorted = ends.toSorted((one, other) => one - other);
  while (least < most) {
    const middle = Math.floor((least + most) / 2);
    if (isUnexplained(upTo(sorted[middle] ?? 0))) most = middle;
    else least = middle + 1;
  }
  return upTo(sorted[least] ?? 0);
}
