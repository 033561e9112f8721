/**
 * Programs that some tests need and not every machine has. Where one is missing its tests are skipped, in one line that
 * says so, unless CI or PETSTORE_SKIP_NOTHING says that nothing may be.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import anyTest, { type TestFn } from 'ava';

/** The first of `names` that is a program in a folder of PATH, or in one of `folders`. */
export function findProgram(names: readonly string[], folders: readonly string[] = []): string | undefined {
  const searched = [...(process.env.PATH ?? '').split(delimiter), ...folders];
  return searched.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
}

/** ava's `test`; when something is `missing`, what ignores every test after one that says so. */
export function testUnless<Context>(missing: string | undefined): TestFn<Context> {
  if (missing === undefined) return anyTest as TestFn<Context>;
  const mayBeSkipped = !(process.env.CI || process.env.PETSTORE_SKIP_NOTHING);
  if (mayBeSkipped) anyTest.skip(missing, (t) => t.pass());
  else anyTest(missing, (t) => t.fail());
  const ignore = () => undefined;
  const hook = Object.assign(() => undefined, { always: ignore });
  const hooks = { before: hook, beforeEach: hook, after: hook, afterEach: hook, serial: ignore };
  return Object.assign(() => undefined, hooks) as unknown as TestFn<Context>;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
