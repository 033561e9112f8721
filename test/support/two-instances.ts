/** Tests of two server processes that share a new PostgreSQL database. */
import type { TestFn } from 'ava';
import { connectPostgres, postgresMissing, type TestPostgres } from './postgres.ts';
import { createDataDir, type ServerProcess, startServerProcess } from './process.ts';
import { testUnless } from './programs.ts';

interface Context {
  readonly server: TestPostgres;
  readonly url: string;
  readonly folder: Awaited<ReturnType<typeof createDataDir>>;
  readonly instances: readonly [ServerProcess, ServerProcess];
}

/** Returns the `test` of a file. Both servers run from before its first test until after its last. */
export function testWithTwoInstances(): TestFn<Context> {
  const test = testUnless<Context>(postgresMissing);
  test.before(async (t) => {
    const server = await connectPostgres();
    const folder = await createDataDir();
    const url = await server.createDatabase();
    const start = () => startServerProcess(folder.path, { DATABASE_URL: url });
    t.context = { server, url, folder, instances: [await start(), await start()] };
  });
  test.after.always(async (t) => {
    const { instances = [], server, url, folder } = t.context;
    for (const instance of instances) await instance.end('SIGKILL');
    await server?.dropDatabase(url);
    await server?.stop();
    await folder?.remove();
  });
  return test;
}
