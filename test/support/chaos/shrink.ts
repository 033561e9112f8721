/**
 * The shortest part of a history that shows what is wrong with it.
 *
 * Each step leaves a history that asks for less, so that what can't be explained in the end could not be in the beginning:
 * what came later is left out, answers that changed nothing are left out, and writes are taken for unanswered.
 */
import { linearize, type Model, type Operation } from './linearize.ts';

export interface Shrunk<O> {
  /** In the order in which they began. */
  readonly operations: readonly O[];
  /** Writes beside them: whatever became of those, nothing explains the answers. */
  readonly others: number;
}

/** `operations` are unexplained. */
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

/** Ends the history at each answer in turn; what had not been answered by then is taken for unanswered. */
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
