/** The server's process with a database on PostgreSQL. */
import { freePorts } from '../support/ports.ts';
import { postgresMissing, startPostgres } from '../support/postgres.ts';
import { createDataDir, TestProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';

testUnless(postgresMissing)('SIGTERM - a server ends while PostgreSQL hangs', async (t) => {
  const postgres = await startPostgres();
  t.teardown(() => postgres.stop());
  const { path, remove } = await createDataDir();
  t.teardown(remove);
  const [port] = await freePorts(1);
  const settings = { DATA_DIR: path, GRPC_PORT: String(port), DATABASE_URL: await postgres.createDatabase() };
  const server = new TestProcess('src/main.ts', settings);
  t.teardown(() => server.end('SIGKILL'));
  await server.says(/"serving"/);
  await postgres.pause();
  t.teardown(() => postgres.resume());
  server.process.kill('SIGTERM');
  await server.says(/"stopped"/);
  t.deepEqual(await server.ended, { code: 0, signal: null });
});
