/** A server that ends or can't start: it is started again, for good if the failure is temporary. */
import { mkdir, writeFile } from 'node:fs/promises';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { readConfig } from '../../src/platform/config/config.ts';
import { Instance } from '../../src/platform/launcher/instance.ts';
import { supervise } from '../../src/platform/launcher/supervisor.ts';
import { temporaryFolder } from '../support/scope.ts';
import { startTestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';

/** Serves at its first start, and fails at the next ones, FAILS of them. */
const PROGRAM = `
  import { appendFileSync, readFileSync } from 'node:fs';
  appendFileSync(process.env.STARTS, '.');
  const starts = readFileSync(process.env.STARTS).length;
  if (starts > 1 && starts < 2 + Number(process.env.FAILS)) {
    process.send({ reason: 'not yet', isTemporary: process.env.IS_TEMPORARY === 'true' }, () => process.exit(1));
  } else if (process.env.MIGRATES) {
    const telling = setInterval(() => process.send({ migrating: '009-colours' }), 200);
    setTimeout(() => process.send('serving', () => clearInterval(telling)), Number(process.env.MIGRATES));
  } else process.send('serving');
  process.on('message', (message) => process.send(message));
`;

/** Such a server, which has not been started. */
async function prepare(t: ExecutionContext, settings: Readonly<Record<string, string>>) {
  const folder = temporaryFolder(t);
  await mkdir(`${folder}/logs`);
  const file = `${folder}/server.mjs`;
  await writeFile(file, PROGRAM);
  const env = { STARTS: `${folder}/starts`, ...settings };
  const server = new Instance(readConfig({ DATA_DIR: folder }), 0, file, env);
  t.teardown(() => server.stop(1_000));
  return { folder, server };
}

/** Kills such a server under supervision. `end` settles as the supervision does. */
async function killed(
  t: ExecutionContext,
  how: Readonly<{ fails: number; isTemporary?: boolean; isRedundant?: boolean }>,
) {
  const { folder, server } = await prepare(t, { IS_TEMPORARY: `${how.isTemporary}`, FAILS: `${how.fails}` });
  const stopping = new AbortController();
  t.teardown(() => stopping.abort());
  await server.start();
  const lines: string[] = [];
  const report = (line: string) => lines.push(line.replaceAll(folder, ''));
  const end = supervise(server, { shutdown: stopping.signal, report, isRedundant: () => how.isRedundant === true });
  server.child.process.kill('SIGKILL');
  return { lines, end, server };
}

/** As many failed starts as end a service. */
const MOST = 5;

const REPEATED = { 'that are temporary': { isTemporary: true }, 'beside another server': { isRedundant: true } };
for (const [which, how] of Object.entries(REPEATED)) {
  test(`Failed starts - ${which} are repeated until the server serves`, async (t) => {
    const startMs = performance.now();
    const { lines, end } = await killed(t, { fails: MOST, ...how });
    await Promise.race([end, until(() => lines.length === 3, 'the start that succeeds', 40_000)]);
    t.deepEqual(lines, [
      'The server ended unexpectedly (signal SIGKILL): see /logs/server.log. Starting it again …',
      "The server can't start: not yet (see /logs/server.log). Retrying every few seconds.",
      'The server serves again.',
    ]);
    const tookMs = performance.now() - startMs;
    t.true(tookMs > 6_000, `the pauses double, from 200 ms on: ${tookMs} ms`);
  });
}

test.serial('Pings - a launcher that hardly gets a turn kills no process that answers', async (t) => {
  const { stack } = await startTestStack(t);
  const processes = [stack.envoy, ...stack.servers];
  for (const endMs = performance.now() + 14_000; performance.now() < endMs; await turn()) {
    for (const turnMs = performance.now() + 1_300; performance.now() < turnMs; );
  }
  await delay(500);
  t.true(processes.every(({ isRunning }) => isRunning));
});

test('Deaths - a server that has served is started again, however often it dies, after a longer pause', async (t) => {
  const { lines, end, server } = await killed(t, { fails: 0 });
  const pausesMs: number[] = [];
  for (let times = 1; times <= MOST + 1; times += 1) {
    const diedMs = performance.now();
    await Promise.race([end, until(() => lines.length === 2 * times, `restart ${times}`, 20_000)]);
    pausesMs.push(performance.now() - diedMs);
    server.child.process.kill('SIGKILL');
  }
  t.is(lines.filter((line) => line === 'The server serves again.').length, MOST + 1);
  t.true((pausesMs[0] ?? 0) < (pausesMs.at(-1) ?? 0) - 2_000, `${pausesMs}`);
});

test('Start - one that migrates is waited for as long as it says so, and told once', async (t) => {
  const { server } = await prepare(t, { MIGRATES: '6000' });
  const lines: string[] = [];
  const began = performance.now();
  await server.start(3_000, (line) => lines.push(line));
  t.true(performance.now() - began >= 5_900, 'it does not count as serving before');
  t.deepEqual(lines, ['The server migrates the database: 009-colours …']);
});
