/** The setup of tests that start and kill server processes on one data folder. */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { createDataDir, type ServerProcess, startServerProcess } from '../support/service/process.ts';

export interface Context {
  readonly dataDir: string;
  readonly remove: () => Promise<void>;
  /** Killed after the test. */
  readonly servers: ServerProcess[];
}

export const test = anyTest as TestFn<Context>;

test.beforeEach(async (t) => {
  const { path, remove } = await createDataDir();
  t.context = { dataDir: path, remove, servers: [] };
});
test.afterEach.always(async (t) => {
  for (const server of t.context.servers) {
    server.grpc.close();
    await server.end('SIGKILL');
  }
  await t.context.remove();
});

/** Starts a server on the test's data folder. */
export async function start(
  { context }: ExecutionContext<Context>,
  settings?: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  const server = await startServerProcess(context.dataDir, settings);
  context.servers.push(server);
  return server;
}
