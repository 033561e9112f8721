/** SIGHUP of two kinds: somebody asks for a rolling restart, or the terminal is gone. */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childrenOf, isRunning } from '../support/launcher.ts';
import { RestClient } from '../support/rest-client.ts';
import { until } from '../support/until.ts';
import { launch, type Test, test } from './launch.ts';

const ONE = 'A rolling restart needs INSTANCES of 2 or more: nothing was changed.\n';

test('SIGHUP - with one server changes nothing and says what a rolling restart needs', async (t) => {
  const launcher = launch(t);
  const { url, key } = await launcher.opened();
  const before = await launcher.children();
  launcher.process.kill('SIGHUP');
  await launcher.says(new RegExp(ONE));
  t.deepEqual(await launcher.children(), before);
  t.is((await new RestClient(url, key).get('/categories')).status, 200);
});

test('SIGHUP - amid the start changes nothing', async (t) => {
  const launcher = launch(t);
  await launcher.says(/Starting/);
  launcher.process.kill('SIGHUP');
  const { url } = await launcher.opened();
  t.is((await fetch(`${url}/healthz`)).status, 200);
});

/** Runs a command in a terminal of its own, which is there as long as this runs. */
const TERMINAL = 'import pty, sys; pty.spawn(sys.argv[1:])';

/** Launches in a terminal. Resolves when the service is open. */
async function launchInTerminal(t: Test) {
  const env = { ...process.env, ...t.context.settings };
  const command = ['-c', TERMINAL, process.execPath, 'src/launcher/main.ts'];
  const terminal = spawn('python3', command, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => terminal.kill('SIGKILL'));
  let output = '';
  terminal.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString().replaceAll('\r\n', '\n');
  });
  await until(() => output.includes('Ctrl-C stops it'), 'the greeting');
  const [launcher] = await childrenOf(terminal.pid ?? -1);
  if (launcher === undefined) throw new Error('there is no launcher');
  const all = [launcher, ...(await childrenOf(launcher.pid))];
  t.teardown(() => {
    for (const one of all) if (isRunning(one)) process.kill(one.pid, 'SIGKILL');
  });
  return { terminal, launcher, all, said: () => output };
}

test('Hang-up - of the terminal stops server and Envoy', async (t) => {
  const { terminal, all } = await launchInTerminal(t);
  t.is(all.length, 3);
  terminal.kill('SIGKILL'); // and with it the terminal is gone
  await until(() => !all.some(isRunning), 'the end of the launcher, its server and Envoy');
  const log = await readFile(join(t.context.settings.DATA_DIR ?? '', 'logs', 'server.log'), 'utf8');
  t.true(log.includes('"stopped"'), 'the server was not cut off');
});

test('SIGHUP - while the terminal is there is no hang-up', async (t) => {
  const { launcher, all, said } = await launchInTerminal(t);
  process.kill(launcher.pid, 'SIGHUP');
  await until(() => said().includes(ONE), 'what a rolling restart needs');
  t.true(all.every(isRunning));
});
