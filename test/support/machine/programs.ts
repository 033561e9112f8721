/**
 * Tests that need programs which not every machine has. Without the program, its tests are skipped with one line, or
 * fail under CI and SKIP_NOTHING.
 */
import anyTest, { type TestFn } from 'ava';
import { mayBeSkipped } from './find-program.ts';

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
