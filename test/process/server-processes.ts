/** The setup of tests that start and kill server processes on one data folder. */
import type { ExecutionContext } from 'ava';
import { temporaryFolder } from '../support/machine/folder.ts';
import { type ServerProcess, startServerProcess } from '../support/service/process.ts';
import { fresh, type SharedBy } from '../support/service/sharing.ts';

export const test = fresh(undefined, (t) => ({ dataDir: temporaryFolder(t) }));
export type Context = SharedBy<typeof test>;

/** Starts a server on the test's data folder. */
export function start(
  t: ExecutionContext<Context>,
  settings?: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  return startServerProcess(t, t.context.dataDir, settings);
}
