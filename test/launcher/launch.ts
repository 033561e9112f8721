/** The setup of the launcher's tests. After each test, all processes that it launched are killed. */
import type { Scope } from '../support/scope.ts';
import { Launcher, launcherSettings, type Settings, signal } from '../support/service/process.ts';
import { fresh, type SharedBy, sharing, type TestOf } from '../support/service/sharing.ts';
import { takeTurns } from '../support/until.ts';

/** An open service of all tests of a file. */
export interface Shared extends Awaited<ReturnType<Launcher['opened']>> {
  readonly launcher: Launcher;
  readonly folder: string;
}

const turn = takeTurns(2);
export const test = fresh(undefined, async (t) => {
  t.teardown(await turn());
  return { settings: await launcherSettings(t) };
});
export type Context = SharedBy<typeof test>;
export type Test = TestOf<typeof test>;

function launchFor(t: Scope, settings: Settings): Launcher {
  const launcher = new Launcher(settings);
  t.teardown(async () => {
    const children = launcher.hasEnded ? [] : await launcher.children();
    await launcher.end('SIGKILL');
    for (const { pid } of children) signal(pid, 'SIGKILL');
  });
  return launcher;
}

export function launch(t: Test, settings: Settings = {}): Launcher {
  return launchFor(t, { ...t.context.settings, ...settings });
}

/** Launches one service for all tests of the file. `more` returns settings besides ports and data folder. */
export function launchForAll(
  more: (given: Settings, t: Scope) => Settings | Promise<Settings> = () => ({}),
  missing?: string,
): Shared {
  const shared: Partial<Shared> = {};
  sharing(missing, async (t) => {
    const given = await launcherSettings(t);
    const settings = { ...given, ...(await more(given, t)) };
    const launcher = launchFor(t, settings);
    Object.assign(shared, { launcher, folder: settings.DATA_DIR });
    Object.assign(shared, await launcher.opened());
    return {};
  });
  return shared as Shared; // complete before the first test
}

/** Asserts that the launcher refused to start, with one line and nothing else. */
export async function refusedWith(t: Test, launcher: Launcher, line: string | RegExp, code = 1): Promise<void> {
  t.deepEqual(await launcher.ended, { code, signal: null });
  t.regex(launcher.errors, /^petstore: [^\n]+\n$/);
  const message = launcher.errors.slice('petstore: '.length).trimEnd();
  if (typeof line === 'string') t.is(message, line);
  else t.regex(message, line);
}
