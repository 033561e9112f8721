/**
 * AVA's `test` for a file whose tests need programs that not every machine has, or the same to be started, once or each
 * for itself. Without the program, its tests are skipped with one line, or fail under CI and SKIP_NOTHING.
 */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { mayBeSkipped } from '../machine/find-program.ts';
import { scopeOf } from '../scope.ts';

const told = new Set<string>();

/** ava's `test`. If something is `missing`, one test reports that and the others are ignored. */
export function testUnless<Context>(missing: string | undefined): TestFn<Context> {
  if (missing === undefined) return anyTest as TestFn<Context>;
  if (!told.has(missing)) (mayBeSkipped() ? anyTest.skip : anyTest)(missing, (t) => t.fail());
  told.add(missing);
  const ignore = () => undefined;
  const hook = Object.assign(() => undefined, { always: ignore });
  const hooks = { before: hook, beforeEach: hook, after: hook, afterEach: hook };
  const serial = Object.assign(() => undefined, hooks);
  return Object.assign(() => undefined, { ...hooks, serial }) as unknown as TestFn<Context>;
}

/** What the tests have. */
export type SharedBy<Test> = Test extends TestFn<infer Shared> ? Shared : never;

/** The `t` of such a test. */
export type TestOf<Test> = ExecutionContext<SharedBy<Test>>;

type Starting = Pick<ExecutionContext, 'teardown' | 'timeout'>;

/** `start` makes the context of all tests. What it has started ends after the last one, also when a start fails. */
export function sharing<Shared>(
  missing: string | undefined,
  start: (t: Starting) => Shared | Promise<Shared>,
): TestFn<Shared> {
  const test = testUnless<Shared>(missing);
  const ends = new AsyncDisposableStack();
  test.serial.before(async (t) => {
    t.context = await start({ ...scopeOf(ends), timeout: t.timeout });
  });
  test.after.always(() => ends.disposeAsync());
  return test;
}

/** `start` makes the context of each test, of what they share. What it has started ends after the test. */
export function fresh<Own extends object, Shared = unknown>(
  missing: string | undefined,
  start: (t: Starting, shared: Shared) => Own | Promise<Own>,
): TestFn<Own & Shared> {
  const test = testUnless<Own & Shared & { readonly ends: AsyncDisposableStack }>(missing);
  test.beforeEach(async (t) => {
    const ends = new AsyncDisposableStack();
    const shared = t.context;
    t.context = { ...shared, ends } as typeof shared;
    Object.assign(t.context, await start({ ...scopeOf(ends), timeout: t.timeout }, shared));
  });
  test.afterEach.always((t) => t.context.ends.disposeAsync());
  return test as unknown as TestFn<Own & Shared>;
}
