/** Connections on which neither an edge nor a valid key has called yet may send little. Others are served meanwhile. */
import { once } from 'node:events';
import { constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { WebServiceService } from '../../gen/apiplatform/web/v1/web.ts';
import { END_STREAM, frame, headersFrame, PLAIN, PREFACE } from '../support/calls/frames.ts';
import { grpcHeaders, openSocket } from '../support/calls/http2.ts';
import { startTestServer } from '../support/service/server.ts';
import { until } from '../support/until.ts';
import { EDGE_SECRET, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

const KNOWN = { edge: { 'x-petstore-edge': EDGE_SECRET }, caller: { 'x-account': '1' } };

/** Opens a connection, and makes a call of this id if there are headers for it. */
async function open(
  t: ExecutionContext,
  server: ScriptedServer,
  id: string,
  headers?: object,
  localAddress = '127.0.0.1',
): Promise<Socket> {
  const socket = connect({ port: server.port, host: '127.0.0.1', localAddress }).resume();
  socket.on('error', () => undefined);
  t.teardown(() => socket.destroy());
  socket.write(PREFACE);
  if (headers === undefined) return socket;
  const call = { ...PLAIN, ...grpcHeaders(WebServiceService.getFile.path), ...headers, 'x-request-id': id };
  socket.write(headersFrame(1, call));
  await until(() => server.find(id), 'the call');
  return socket;
}

const times = (count: number, make: (index: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, i) => make(i)));
const calls = (count: number, headers = {}, from = 3) =>
  times(count, (i) => headersFrame(2 * i + from, { ...PLAIN, ...grpcHeaders('/a.b.C/D'), ...headers }, END_STREAM));

const FLOODS = {
  '1,000 calls in a write': (headers: object) => calls(1_000, headers),
  'frames that are no call': () => times(200_000, () => frame('window', 0, 0, Buffer.of(0, 0, 0, 1))),
};

for (const [title, flood] of Object.entries(FLOODS)) {
  test(`Strangers - ${title} end the connection, but not that of an edge or of a caller with a key`, async (t) => {
    const server = await startScriptedServer(t);
    const known = await Promise.all(Object.entries(KNOWN).map(([id, headers]) => open(t, server, id, headers)));
    const stranger = await open(t, server, 'stranger', {});
    for (const socket of known) socket.write(flood(KNOWN.caller));
    const { length } = flood({});
    stranger.write(flood({}));
    await until(() => stranger.closed, 'the end');
    for (const socket of known) await until(() => socket.bytesWritten > length && socket.writableLength === 0, 'all');
    t.false(known.some(({ closed }) => closed));
  });
}

test('Strangers - while all together have sent much, each may send little', async (t) => {
  const server = await startScriptedServer(t);
  const sockets: Socket[] = [];
  const oneEnds = async () => {
    const socket = await open(t, server, '');
    socket.write(calls(90));
    return sockets.push(socket) && sockets.some(({ closed }) => closed);
  };
  await until(oneEnds, 'the end of one', 8_000); // before that of an idle one
  const next = await open(t, server, 'next', {});
  t.false(next.closed);
});

test('Strangers - what callers with a key sent first leaves others as much, however many they are', async (t) => {
  const server = await startScriptedServer(t);
  for (let count = 0; count < 20; count += 1) {
    const known = await open(t, server, `known-${count}`, {});
    known.write(calls(90));
    await until(() => known.bytesWritten > 1_000 && known.writableLength === 0, 'all');
    known.write(headersFrame(1_001, { ...PLAIN, ...grpcHeaders('/a.b.C/D'), ...KNOWN.edge }, END_STREAM));
  }
  const stranger = await open(t, server, 'stranger', {});
  stranger.write(calls(50));
  await delay(100);
  t.false(stranger.closed);
});

test('Strangers - the connection of a caller is one again while its calls are refused for the limits', async (t) => {
  const { address, operator } = await startTestServer(t);
  const call = { ...PLAIN, ...grpcHeaders('/a.b.C/D', await operator.keyOf({ perMinute: 1, perDay: 10 })) };
  const socket = openSocket(address).resume();
  t.teardown(() => socket.destroy());
  socket.write(Buffer.concat([PREFACE, headersFrame(1, call, END_STREAM)]));
  await once(socket, 'data');
  for (let id = 3; id < 2_000 && !socket.destroyed; id += 100) {
    socket.write(times(50, (index) => headersFrame(id + 2 * index, call, END_STREAM)));
    await delay(20);
  }
  await until(() => socket.destroyed, 'the end', 5_000); // an idle one ends after 10 s
  t.pass();
});

test('Strangers - a caller stays known that ends a call before its key has been judged', async (t) => {
  const server = await startScriptedServer(t);
  const caller = await open(t, server, 'caller', KNOWN.caller);
  const early = { ...PLAIN, ...grpcHeaders(WebServiceService.getFile.path), 'x-request-id': 'early', 'x-gate': '1' };
  caller.write(headersFrame(3, early));
  await until(() => server.find('early'), 'the early call');
  caller.write(frame('reset', 3, 0, Buffer.of(0, 0, 0, constants.NGHTTP2_CANCEL)));
  await delay(500);
  caller.write(calls(1_000, {}, 5));
  await delay(1_000);
  t.false(caller.closed);
});

test('Strangers - of more than 1,000 the oldest of the address with most ends, and none that is known', async (t) => {
  const server = await startScriptedServer(t);
  const known = await Promise.all(Object.entries(KNOWN).map(([id, headers]) => open(t, server, id, headers)));
  const alone = await open(t, server, 'alone', {}, '127.0.0.2');
  const oldest = await open(t, server, 'oldest', {});
  for (let count = 0; count < 1_100; count += 1) await once(await open(t, server, ''), 'data');
  t.deepEqual([alone.closed, oldest.closed], [false, true]);
  t.false(known.some(({ closed }) => closed));
});
