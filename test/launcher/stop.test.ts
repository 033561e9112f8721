/** How the service ends: by a signal, with its terminal, or with its launcher. */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { childrenOf, isRunning } from '../support/launcher.ts';
import { RestClient } from '../support/rest-client.ts';
import { until } from '../support/until.ts';
import { launch, type Test, test } from './launch.ts';

const CLEAN = { code: 0, signal: null };

/** Starts a POST and sends half of its body. The returned function sends the rest. */
async function openRequest(
  t: Test,
  url: string,
  key: string,
): Promise<() => Promise<{ status: number; text: string }>> {
  const body = JSON.stringify({ name: 'Late' });
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  const sending = request(`${url}/categories`, { method: 'POST', headers });
  const received = new Promise<{ status: number; text: string }>((resolve, reject) => {
    sending.once('error', reject);
    sending.once('response', async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
    });
  });
  received.catch(() => undefined); // a test may ignore it
  sending.write(body.slice(0, 5));
  const stats = `http://127.0.0.1:${t.context.settings.ENVOY_ADMIN_PORT}/stats?filter=public.downstream_rq_active`;
  await until(async () => (await (await fetch(stats)).text()).includes(': 1'), 'the request at Envoy');
  return () => {
    sending.end(body.slice(5));
    return received;
  };
}

// Serial: signals half a second apart are two key presses, and beside starting services they could be.
test.serial(
  'Ctrl-C - sent by the terminal and by npm at the same time counts once: open requests complete',
  async (t) => {
    const launcher = launch(t);
    const { url, key } = await launcher.opened();
    const finish = await openRequest(t, url, key);
    launcher.process.kill('SIGINT');
    await delay(50); // npm forwards the signal a moment later
    launcher.process.kill('SIGINT');
    await launcher.says(/Stopping/);
    t.is((await finish()).status, 201);
    t.deepEqual(await launcher.ended, CLEAN);
  },
);

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} - stops server and Envoy, says so, exits with 0`, async (t) => {
    const launcher = launch(t);
    await launcher.opened();
    const children = await launcher.children();
    t.is(children.length, 2);
    // To the whole group, as a terminal does for Ctrl-C.
    process.kill(-launcher.pid, signal);
    t.deepEqual(await launcher.ended, CLEAN);
    t.regex(launcher.output, /\nStopping: .*\nStopped\.\n$/);
    t.is(launcher.errors, '');
    for (const child of children) t.false(isRunning(child), child.command);
  });

  test(`${signal} - an open request completes`, async (t) => {
    const launcher = launch(t);
    const { url, key } = await launcher.opened();
    const finish = await openRequest(t, url, key);
    launcher.process.kill(signal);
    await launcher.says(/Stopping/);
    await until(
      () =>
        fetch(`${url}/healthz`).then(
          () => false,
          () => true,
        ),
      'the refusal of new connections',
    );
    const { status, text } = await finish();
    t.is(status, 201);
    t.deepEqual(await launcher.ended, CLEAN);

    const again = await launch(t).opened();
    const { id } = JSON.parse(text);
    t.is((await new RestClient(again.url, key).get(`/categories/${id}`)).body.name, 'Late');
  });

  test(`${signal} - during the start stops what has started and exits with 0`, async (t) => {
    const starting = launch(t);
    await starting.says(/Starting/);
    t.deepEqual(await starting.end(signal), CLEAN);
    t.regex(starting.output, /Stopped\.\n$/);

    const later = launch(t);
    const children = await until(async () => {
      const running = await later.children();
      return running.length === 2 && running;
    }, 'server and Envoy');
    t.deepEqual(await later.end(signal), CLEAN);
    for (const child of children) t.false(isRunning(child), child.command);
    t.is(later.errors, '');
  });
}

test('Ctrl-C twice - does not wait for an open request, and leaves nothing running', async (t) => {
  const launcher = launch(t);
  const { url, key } = await launcher.opened();
  const children = await launcher.children();
  await openRequest(t, url, key);
  launcher.process.kill('SIGINT');
  await launcher.says(/Stopping/);
  await delay(1_000); // an earlier one would count as the same key press
  t.deepEqual(await launcher.end('SIGINT'), { code: 1, signal: null });
  await until(() => !children.some(isRunning), 'the end of server and Envoy');
  t.pass();
});

test('SIGHUP twice - still waits for an open request', async (t) => {
  const launcher = launch(t);
  const { url, key } = await launcher.opened();
  const finish = await openRequest(t, url, key);
  launcher.process.kill('SIGHUP');
  await launcher.says(/Stopping/);
  await delay(1_000); // an earlier SIGINT would be ignored too
  launcher.process.kill('SIGHUP');
  t.is((await finish()).status, 201);
  t.deepEqual(await launcher.ended, CLEAN);
});

/** Runs a command in its own terminal. The terminal closes when this process ends. */
const TERMINAL = 'import pty, sys; pty.spawn(sys.argv[1:])';

test('Closed terminal - stops server and Envoy cleanly', async (t) => {
  const env = { ...process.env, ...t.context.settings };
  const command = ['-c', TERMINAL, process.execPath, 'src/launcher/main.ts'];
  const terminal = spawn('python3', command, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => terminal.kill('SIGKILL'));
  let output = '';
  terminal.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await until(() => output.includes('Ctrl-C stops it'), 'the start message');
  const [launcher] = await childrenOf(terminal.pid ?? -1);
  if (launcher === undefined) throw new Error('there is no launcher');
  const all = [launcher, ...(await childrenOf(launcher.pid))];
  t.teardown(() => {
    for (const one of all) if (isRunning(one)) process.kill(one.pid, 'SIGKILL');
  });
  t.is(all.length, 3);
  terminal.kill('SIGKILL');
  await until(() => !all.some(isRunning), 'the end of the launcher, its server and Envoy');
  const log = await readFile(join(t.context.settings.DATA_DIR ?? '', 'logs', 'server.log'), 'utf8');
  t.true(log.includes('"stopped"'), 'the server stopped cleanly');
});

test('Death of the launcher - ends server and Envoy too', async (t) => {
  const launcher = launch(t);
  await launcher.opened();
  const { server, envoy } = await launcher.pair();
  await launcher.end('SIGKILL');
  await until(() => !isRunning(server), 'the end of the server');
  await until(() => !isRunning(envoy), 'the end of Envoy');
  t.pass();
});
