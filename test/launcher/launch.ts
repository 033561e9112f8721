/** The setup of the launcher's tests. After each test, all processes that it launched are killed. */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { isRunning, Launcher, launcherSettings } from '../support/launcher.ts';
import { Turns } from '../support/turns.ts';

export interface Context {
  /** Free ports, and a data folder that does not exist yet. */
  readonly settings: Readonly<Record<string, string>>;
  readonly launchers: Launcher[];
  readonly remove: () => Promise<void>;
  readonly endTurn: () => void;
}

export type Test = ExecutionContext<Context>;
export const test = anyTest as TestFn<Context>;

const turns = new Turns(2);
test.beforeEach(async (t) => {
  t.context = { ...(await launcherSettings()), launchers: [], endTurn: await turns.take() };
});
test.afterEach.always(async (t) => {
  for (const launcher of t.context.launchers) await kill(launcher);
  await t.context.remove();
  t.context.endTurn();
});

async function kill(launcher: Launcher): Promise<void> {
  const children = launcher.hasEnded ? [] : await launcher.children();
  await launcher.end('SIGKILL');
  for (const child of children) if (isRunning(child)) process.kill(child.pid, 'SIGKILL');
}

/** Runs the launcher. `settings` override those of the test. */
export function launch(t: Test, settings: Readonly<Record<string, string>> = {}): Launcher {
  const launcher = new Launcher({ ...t.context.settings, ...settings });
  t.context.launchers.push(launcher);
  return launcher;
}

/** Asserts that the launcher refused to start, with one line and nothing else. */
export async function refusedWith(t: Test, launcher: Launcher, line: string | RegExp): Promise<void> {
  t.deepEqual(await launcher.ended, { code: 1, signal: null });
  t.regex(launcher.errors, /^petstore: [^\n]+\n$/);
  const message = launcher.errors.slice('petstore: '.length).trimEnd();
  if (typeof line === 'string') t.is(message, line);
  else t.regex(message, line);
}
