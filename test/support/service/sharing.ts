/** AVA's `test` for a file whose tests share what takes long to start. */
import type { ExecutionContext, TestFn } from 'ava';
import { testUnless } from '../machine/programs.ts';

/** What the tests share. */
export type SharedBy<Test> = Test extends TestFn<infer Shared> ? Shared : never;

/**
 * `start` makes the context of all tests. What it registers by `teardown` is called after the last test, in the reverse
 * order, also when a start fails.
 */
export function sharing<Shared>(
  missing: string | undefined,
  start: (t: Pick<ExecutionContext, 'teardown' | 'timeout'>) => Promise<Shared>,
): TestFn<Shared> {
  const test = testUnless<Shared>(missing);
  const ends: (() => unknown)[] = [];
  test.serial.before(async (t) => {
    t.context = await start({ teardown: (end) => void ends.unshift(end), timeout: t.timeout });
  });
  test.after.always(async () => {
    for (const end of ends) await end();
  });
  return test;
}
