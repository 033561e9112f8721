/** Connections: how many may be open, and for how long. */
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { callAdmin } from '../../src/platform/launcher/envoy-admin.ts';
import { openEvents } from '../support/calls/event-source.ts';
import { END_STREAM, frame, headersFrame, PLAIN, PREFACE } from '../support/calls/frames.ts';
import { exchange, openSocket, sessionOf, targetOf } from '../support/calls/http2.ts';
import { cpuTimesUs } from '../support/machine/cpu-time.ts';
import { statistic } from '../support/service/exposition.ts';
import { until } from '../support/until.ts';
import { hostileTest, pidsOf } from './campaign/service.ts';

const test = hostileTest({ LOG_LEVEL: 'info', TRUSTED_PROXIES: '127.0.9.9' });

const MAX_CONNECTIONS = 3_500;
const FRAME_HEAD_BYTES = 9;

function openSockets(publicAddress: string, length: number) {
  // So many addresses that each has enough ports, also while those of an earlier run wait for their end.
  const others = Array.from({ length: 19 }, (_, index) => `127.0.7.${index + 2}`);
  const target = targetOf(publicAddress, '127.0.7.1', ...others);
  return Array.from({ length }, (_, index) => openSocket(target, index).resume());
}

test.serial('Connections - at most 3,500 are open, and others are served once they have gone', async (t) => {
  const { config, publicAddress, rest } = t.context;
  const stat = (name: string) => statistic(config.envoyAdminPort, `listener.127.0.0.1_${config.port}.${name}`);
  const sockets = openSockets(publicAddress, MAX_CONNECTIONS + 200);
  await until(async () => (await stat('downstream_global_cx_overflow')) > 0, 'refused connections');
  const open = await stat('downstream_pre_cx_active'); // nothing has been read from them
  t.is(await callAdmin(config, 'GET', '/ready'), 'LIVE\n', 'the launcher can still drain Envoy');
  t.true(open > MAX_CONNECTIONS / 2 && open <= MAX_CONNECTIONS, `${open} are open`);
  for (const socket of sockets) socket.destroy();
  t.true(await until(async () => (await rest.get('/pets').catch(() => undefined))?.status === 200, 'a response'));
});

test.serial('Connections - with many open, idle ones are closed even when proxies may keep them', async (t) => {
  const { config, publicAddress } = t.context;
  const sockets = openSockets(publicAddress, 0.9 * MAX_CONNECTIONS);
  // Envoy itself responds, with a redirect.
  for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost: petstore\r\nAccept: text/html\r\n\r\n');
  const closed = () => statistic(config.envoyAdminPort, 'http.public.downstream_cx_idle_timeout');
  t.true(await until(async () => (await closed()) > 0, 'the end of an idle one', 60_000));
  for (const socket of sockets) socket.destroy();
});

test.serial('Connections - thousands with unfinished headers over HTTP/2 close none of others', async (t) => {
  const { config, publicAddress, key } = t.context;
  const session = await sessionOf(t, publicAddress);
  const get = () => exchange(session, { ':path': '/pets', authorization: `Bearer ${key}` });
  t.is((await get()).status, 200);
  const long = Object.fromEntries(Array.from({ length: 4 }, (_, index) => [`x-${index}`, '~'.repeat(3_900)]));
  const unfinished = frame('headers', 1, 0, headersFrame(1, { ...PLAIN, ...long }).subarray(FRAME_HEAD_BYTES));
  const sockets = openSockets(publicAddress, 0.9 * MAX_CONNECTIONS);
  for (const socket of sockets) socket.write(Buffer.concat([PREFACE, unfinished]));
  const sheds = 'overload.envoy.load_shed_points.http2_server_go_away_and_close_on_dispatch.shed_load_count';
  const open = () => statistic(config.envoyAdminPort, 'http.public.downstream_cx_http2_active');
  await until(async () => (await open()) > 0.8 * MAX_CONNECTIONS, 'all of them');
  t.is((await get()).status, 200);
  t.is(await statistic(config.envoyAdminPort, sheds), 0);
  for (const socket of sockets) socket.destroy();
});

test.serial('Streams of events - stay open beside thousands of connections that send nothing', async (t) => {
  const { publicAddress, rest, key } = t.context;
  const stream = await openEvents(`${rest.url}/events/stream`, key);
  t.is((await stream.next())?.event, 'ready');
  const next = stream.next().then((event) => event?.event ?? 'the end');
  let sockets: ReturnType<typeof openSockets> = [];
  for (let round = 0; round < 24; round += 1) {
    sockets = sockets.filter(({ closed }) => !closed); // they end after 5 s
    sockets.push(...openSockets(publicAddress, Math.floor(0.83 * MAX_CONNECTIONS) - sockets.length));
    await delay(500);
  }
  t.is(await Promise.race([next, 'nothing']), 'nothing');
  for (const socket of sockets) socket.destroy();
  stream.close();
  await next.catch(() => undefined);
});

test.serial('Unread refusals - 4,000 that are never read end within 30 seconds', async (t) => {
  const active = () => statistic(t.context.config.envoyAdminPort, 'http.public.downstream_rq_active');
  const noWindow = frame('settings', 0, 0, Buffer.of(0, 4, 0, 0, 0, 0));
  const get = { ':method': 'GET', ':path': '/healthz', ...PLAIN };
  const requests = Array.from({ length: 100 }, (_, index) => headersFrame(2 * index + 1, get, END_STREAM));
  const sockets = openSockets(t.context.publicAddress, 40);
  for (const socket of sockets) socket.write(Buffer.concat([PREFACE, noWindow, ...requests]));
  await until(async () => (await active()) > 1_000, 'a thousand of them');
  await until(async () => (await active()) === 0, 'the end of all');
  for (const socket of sockets) socket.destroy();
  t.is((await t.context.rest.get('/pets')).status, 200);
});

const LINE_BYTES = 40_000;
/** On a connection that Envoy reads a byte costs 1 to 2 µs. */
const MAX_US_PER_BYTE = 6;

test.serial('Connections - the last byte of a slow request line costs Envoy as little as the first', async (t) => {
  const envoy = { pids: [pidsOf(t.context).envoy] };
  const sockets = openSockets(t.context.publicAddress, 10).map((socket) => socket.setNoDelay());
  const beforeUs = cpuTimesUs(envoy);
  for (let sent = 0; sent < LINE_BYTES; sent += 1) {
    for (const socket of sockets) socket.write('a');
    await turn();
  }
  const perByteUs = (cpuTimesUs(envoy) - beforeUs) / (LINE_BYTES * sockets.length);
  for (const socket of sockets) socket.destroy();
  t.true(perByteUs < MAX_US_PER_BYTE, `${perByteUs} µs`);
});
