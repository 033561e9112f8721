/** How the service ends by a signal, and starts after kill -9. */
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, get, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { HealthService } from '../../gen/grpc/health/v1/health.ts';
import { version } from '../../src/platform/config/constants.ts';
import { openEvents } from '../support/calls/event-source.ts';
import { END_STREAM, frame, headersFrame, PLAIN, PREFACE } from '../support/calls/frames.ts';
import { grpcFrame, grpcHeaders, openSocket } from '../support/calls/http2.ts';
import { isRunning, signal } from '../support/service/process.ts';
import { until } from '../support/until.ts';
import { launch, type Test, test } from './launch.ts';

const CLEAN = { code: 0, signal: null };

/** Starts a POST and sends half of its body. The returned function sends the rest, and resolves with the response. */
async function openRequest(t: Test, url: string, key: string): Promise<() => Promise<string>> {
  const body = JSON.stringify({ name: 'Late' });
  const fixed = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const headers = { authorization: `Bearer ${key}`, ...fixed };
  const sending = request(`${url}/categories`, { method: 'POST', headers });
  const received = once(sending, 'response').then(async ([reply]) => `${reply.statusCode} ${await text(reply)}`);
  received.catch(() => undefined); // a test may ignore it
  sending.write(body.slice(0, 5));
  const stats = `http://127.0.0.1:${t.context.settings.ENVOY_ADMIN_PORT}/stats?filter=public.downstream_rq_active`;
  await until(async () => (await (await fetch(stats)).text()).includes(': 1'), 'the request at Envoy');
  return () => {
    sending.end(body.slice(5));
    return received;
  };
}

/** Calls /healthz on a connection of the agent. Resolves with what becomes of it; undefined if it is refused. */
async function healthOn(agent: Agent | false, url: string): Promise<string | undefined> {
  const [response] = await once(get(`${url}/healthz`, { agent }), 'response').catch(() => []);
  return response && (response.resume().headers.connection ?? 'keep-alive');
}

for (const [signal, why] of [
  ['SIGINT', 'by the terminal and by npm at the same time'],
  ['SIGTERM', 'once'],
  ['SIGHUP', 'twice, as terminals do'],
] as const) {
  test.serial(`${signal} - sent ${why}: open requests complete, then all processes end`, async (t) => {
    const launcher = launch(t);
    const { url, key } = await launcher.opened();
    const children = await launcher.children();
    t.is(children.length, 2);
    const finish = await openRequest(t, url, key);
    const stream = await openEvents(`${url}/events/stream`, key);
    t.is((await stream.next())?.event, 'ready');
    const kept = new Agent({ keepAlive: true });
    t.is(await healthOn(kept, url), 'keep-alive');
    process.kill(-launcher.pid, signal); // to the whole group, as a terminal does for Ctrl-C
    // Another signal, as two of one kind may become one; and at once, as later it would be another key press.
    if (signal === 'SIGINT') launcher.process.kill('SIGTERM');
    await launcher.says(/Stopping/);
    if (signal === 'SIGHUP') {
      await delay(1_000);
      launcher.process.kill(signal);
    }
    await until(async () => (await healthOn(false, url)) === undefined, 'the refusal of new connections');
    t.is(await healthOn(kept, url), 'close', 'a connection that was kept');
    t.is(await stream.next(), undefined, 'the stream ends between two events, and the stop does not wait for it');
    t.is(await finish(), '201 {"id":1,"name":"Late"}');
    t.deepEqual(await launcher.ended, CLEAN);
    t.regex(launcher.output, /\nStopping: .*\nStopped\.\n$/);
    t.is(launcher.errors, '');
    for (const child of children) t.false(isRunning(child), child.command);
  });
}

test('SIGTERM - during the start stops what has started, even if it hangs, and exits with 0', async (t) => {
  const starting = launch(t);
  await starting.says(new RegExp(`^petstore ${version()}: starting the server and Envoy …$`, 'm')); // its first line
  starting.process.kill('SIGUSR2'); // changes nothing
  t.deepEqual(await starting.end('SIGTERM'), CLEAN);
  t.regex(starting.output, /Stopped\.\n$/);

  const later = launch(t);
  const children = Object.values(await until(() => later.pair().catch(() => undefined), 'server and Envoy'));
  for (const child of children) process.kill(child.pid, 'SIGSTOP');
  later.process.kill('SIGTERM');
  await later.says(/Stopped/);
  t.deepEqual(await later.ended, CLEAN);
  for (const child of children) t.false(isRunning(child), child.command);
  t.is(later.errors, '');
});

test.serial('Ctrl-C twice - does not wait for an open request, and leaves nothing running', async (t) => {
  const launcher = launch(t);
  const { url, key } = await launcher.opened();
  const children = await launcher.children();
  await openRequest(t, url, key);
  launcher.process.kill('SIGINT');
  await launcher.says(/Stopping/);
  for (const { pid } of await launcher.servers()) process.kill(pid, 'SIGSTOP'); // it hangs
  await delay(1_000); // an earlier one would count as the same key press
  t.deepEqual(await launcher.end('SIGINT'), { code: 1, signal: null });
  t.true(await until(() => !children.some(isRunning), 'the end of server and Envoy', 5_000));
});

test('SIGTERM - calls and responses that anybody may leave open without a key do not delay it', async (t) => {
  const { GRPC_PORT = '' } = t.context.settings;
  const launcher = launch(t);
  const { url } = await launcher.opened();
  const check = headersFrame(1, { ...PLAIN, ...grpcHeaders(HealthService.check.path) }); // its message never comes
  const watch = Buffer.concat([
    headersFrame(3, { ...PLAIN, ...grpcHeaders(HealthService.watch.path) }),
    frame('data', 3, END_STREAM, grpcFrame()),
  ]);
  const noWindow = frame('settings', 0, 0, Buffer.of(0, 4, 0, 0, 0, 0));
  const unread = openSocket(new URL(url).host).on('error', () => undefined);
  t.teardown(() => unread.destroy());
  const file = headersFrame(1, { ...PLAIN, ':method': 'GET', ':path': '/docs/swagger-ui-bundle.js' }, END_STREAM);
  const refused = headersFrame(3, { ...PLAIN, ':method': 'GET', ':path': '/pets' }, END_STREAM);
  unread.resume().write(Buffer.concat([PREFACE, noWindow, file, refused]));
  for (const address of [new URL(url).host, `127.0.0.1:${GRPC_PORT}`]) {
    const socket = openSocket(address).on('error', () => undefined);
    t.teardown(() => socket.destroy());
    socket.write(Buffer.concat([PREFACE, check, watch]));
    socket.resume();
    await until(() => socket.bytesRead > 100, 'the first message of the watch');
  }
  await delay(1_500); // longer than a call may wait
  const beganMs = performance.now();
  t.deepEqual(await launcher.end('SIGTERM'), CLEAN);
  const tookMs = performance.now() - beganMs;
  t.true(tookMs < 6_000, `${tookMs} ms`);
});

test('kill -9 of the launcher - ends a frozen Envoy too, within 15 s', async (t) => {
  const launcher = launch(t);
  await launcher.opened();
  const { envoy } = await launcher.pair();
  process.kill(envoy.pid, 'SIGSTOP');
  await launcher.end('SIGKILL');
  t.true(await until(() => !isRunning(envoy), 'the end of Envoy', 15_000));
});

test('kill -9 of the launcher - ends server and Envoy, and the next start waits for them', async (t) => {
  const dataDir = t.context.settings.DATA_DIR ?? '';
  const pidFile = `${dataDir}/service.pid`;
  const first = launch(t);
  const { rest, key } = await first.opened();
  const id = await rest.category('Cats');
  const { server, envoy } = await first.pair();
  process.kill(server.pid, 'SIGSTOP'); // it holds its port until it is resumed
  t.teardown(() => signal(server.pid, 'SIGKILL'));
  await first.end('SIGKILL');
  t.true(existsSync(pidFile) && existsSync(`${dataDir}/envoy-admin.sock`));
  writeFileSync(pidFile, `${process.pid}\n`); // of an unrelated process

  const next = launch(t);
  await until(() => readFileSync(pidFile, 'utf8') === `${next.pid}\n`, 'the lock of the next one');
  await delay(500);
  process.kill(server.pid, 'SIGCONT');
  t.is((await next.opened()).key, key);
  await until(() => ![server, envoy].some(isRunning), 'the end of the first server and Envoy');
  t.deepEqual((await rest.get(`/categories/${id}`)).body, { id, name: 'Cats' });
  t.deepEqual(await next.end('SIGTERM'), CLEAN);
  t.false(existsSync(pidFile));
});
