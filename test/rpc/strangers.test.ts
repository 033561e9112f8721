/** Connections on which neither an edge nor a valid key has called yet may send little. Others are served meanwhile. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { WebServiceService } from '../../gen/apiplatform/web/v1/web.ts';
import { END_STREAM, frame, headersFrame, PLAIN, PREFACE } from '../support/calls/frames.ts';
import { grpcHeaders } from '../support/calls/http2.ts';
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
const calls = (count: number) =>
  times(count, (i) => headersFrame(2 * i + 3, { ...PLAIN, ...grpcHeaders('/a.b.C/D') }, END_STREAM));

const FLOODS = {
  '1,000 calls in a write': calls(1_000),
  'frames that are no call': times(200_000, () => frame('window', 0, 0, Buffer.of(0, 0, 0, 1))),
};

for (const [title, flood] of Object.entries(FLOODS)) {
  test(`Strangers - ${title} end the connection, but not that of an edge or of a caller with a key`, async (t) => {
    const server = await startScriptedServer(t);
    const known = await Promise.all(Object.entries(KNOWN).map(([id, headers]) => open(t, server, id, headers)));
    const stranger = await open(t, server, 'stranger', {});
    for (const socket of [...known, stranger]) socket.write(flood);
    await until(() => stranger.closed, 'the end');
    for (const socket of known)
      await until(() => socket.bytesWritten > flood.length && socket.writableLength === 0, 'all');
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

test('Strangers - of more than 1,000 the oldest of the address with most ends, and none that is known', async (t) => {
  const server = await startScriptedServer(t);
  const known = await Promise.all(Object.entries(KNOWN).map(([id, headers]) => open(t, server, id, headers)));
  const alone = await open(t, server, 'alone', {}, '127.0.0.2');
  const oldest = await open(t, server, 'oldest', {});
  for (let count = 0; count < 1_100; count += 1) await once(await open(t, server, ''), 'data');
  t.deepEqual([alone.closed, oldest.closed], [false, true]);
  t.false(known.some(({ closed }) => closed));
});
