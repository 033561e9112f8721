/** The setup of the launcher's tests. After each test, all processes that it launched are killed. */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { Launcher, launcherSettings, signal } from '../support/service/launcher.ts';
import { Turns } from '../support/service/turns.ts';

type Settings = Readonly<Record<string, string>>;

export interface Context {
  /** Free ports, and a data folder that does not exist yet. */
  readonly settings: Settings;
  readonly launchers: Launcher[];
  readonly remove: () => Promise<void>;
  readonly endTurn: () => void;
}

/** An open service of all tests of a file. */
export interface Shared extends Awaited<ReturnType<Launcher['opened']>> {
  readonly launcher: Launcher;
  /** Its data folder. */
  readonly folder: string;
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
  for (const { pid } of children) signal(pid, 'SIGKILL');
}

/** Runs the launcher. `settings` override those of the test. */
export function launch(t: Test, settings: Settings = {}): Launcher {
  const launcher = new Launcher({ ...t.context.settings, ...settings });
  t.context.launchers.push(launcher);
  return launcher;
}

/** Launches one service for all tests of the file. `more` returns settings besides ports and data folder. */
export function launchForAll(
  more: (given: Settings) => Settings | Promise<Settings> = () => ({}),
  { before, after }: Pick<TestFn<Context>, 'before' | 'after'> = test,
): Shared {
  const shared: Partial<Shared> = {};
  let remove = async () => {};
  before(async () => {
    const given = await launcherSettings();
    remove = given.remove;
    const settings = { ...given.settings, ...(await more(given.settings)) };
    const launcher = new Launcher(settings);
    Object.assign(shared, { launcher, folder: settings.DATA_DIR });
    Object.assign(shared, await launcher.opened());
  });
  after.always(async () => {
    if (shared.launcher !== undefined) await kill(shared.launcher);
    await remove();
  });
  return shared as Shared; // `before` completes it
}

/** Asserts that the launcher refused to start, with one line and nothing else. */
export async function refusedWith(t: Test, launcher: Launcher, line: string | RegExp, code = 1): Promise<void> {
  t.deepEqual(await launcher.ended, { code, signal: null });
  t.regex(launcher.errors, /^petstore: [^\n]+\n$/);
  const message = launcher.errors.slice('petstore: '.length).trimEnd();
  if (typeof line === 'string') t.is(message, line);
  else t.regex(message, line);
}
