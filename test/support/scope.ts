/** What ends with a test, with the tests of a file, or with a program. */
import type { ExecutionContext } from 'ava';

/** Where what is started leaves how it ends: AVA's `t`, or `t` of `sharing`, `fresh` or `scoped`. */
export type Scope = Pick<ExecutionContext, 'teardown'>;

export function scopeOf(ends: AsyncDisposableStack): Scope {
  return { teardown: (end) => ends.defer(async () => void (await end())) };
}

/** Runs work, and then ends what it has started, the last first. */
export async function scoped<Result>(work: (t: Scope) => Promise<Result>): Promise<Result> {
  await using ends = new AsyncDisposableStack();
  return await work(scopeOf(ends));
}
