/** A server that can't start: it is started again, for good if the failure is temporary. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readConfig } from '../../src/config/config.ts';
import { EXIT_TEMPORARY_FAILURE } from '../../src/config/constants.ts';
import { Instance } from '../../src/launcher/instance.ts';
import { supervise, TooManyFailures } from '../../src/launcher/supervisor.ts';
import { until } from '../support/until.ts';

/** Serves at its first start, and fails at the next four: with its death, as many as end a service. */
const PROGRAM = `
  import { appendFileSync, readFileSync } from 'node:fs';
  appendFileSync(process.env.STARTS, '.');
  const starts = readFileSync(process.env.STARTS).length;
  if (starts > 1 && starts < 6) {
    console.error('petstore: not yet');
    process.exit(Number(process.env.EXIT_CODE));
  }
  process.on('message', (message) => process.send(message));
  process.send('serving');
`;

/** Kills such a server under supervision. `end` settles as the supervision does. */
async function killed(t: ExecutionContext, code: number) {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-supervisor-'));
  await mkdir(join(folder, 'logs'));
  const file = join(folder, 'server.mjs');
  await writeFile(file, PROGRAM);
  const env = { STARTS: join(folder, 'starts'), EXIT_CODE: String(code) };
  const server = new Instance({ config: readConfig({ DATA_DIR: folder }), env, file }, 0);
  const stopping = new AbortController();
  t.teardown(async () => {
    stopping.abort();
    await server.stop(1_000);
    await rm(folder, { recursive: true });
  });
  await server.start();
  const lines: string[] = [];
  const report = (line: string) => lines.push(line.replaceAll(folder, ''));
  const end = supervise(server, { shutdown: stopping.signal, report, isRedundant: () => false });
  server.child.process.kill('SIGKILL');
  return { lines, end };
}

test('Failed starts - that are temporary, exit code 75, are repeated until the server serves', async (t) => {
  const { lines, end } = await killed(t, EXIT_TEMPORARY_FAILURE);
  await Promise.race([end, until(() => lines.length === 3, 'the start that succeeds')]);
  t.deepEqual(lines, [
    'The server ended unexpectedly (signal SIGKILL): see /logs/server.log. Starting it again …',
    "The server can't start: not yet (see /logs/server.log). Retrying every few seconds.",
    'The server serves again.',
  ]);
});

test('Failed starts - any others end the service with the fifth failure in a row', async (t) => {
  const message = /^the server failed 5 times in a row, the last time: The server can't start: not yet \(see /;
  await t.throwsAsync((await killed(t, 1)).end, { instanceOf: TooManyFailures, message });
});
