/** Connections to the server's own port may send little but for admitted calls, and end when they should. */
import { once } from 'node:events';
import { constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Server, ServerCredentials, status as Status } from '@grpc/grpc-js';
import test, { type ExecutionContext } from 'ava';
import { WebServiceService } from '../../gen/apiplatform/web/v1/web.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { handleCalls } from '../../src/platform/rpc/private-parts.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import { END_STREAM, frame, headersFrame, PLAIN, PREFACE } from '../support/calls/frames.ts';
import { exchange, grpcFrame, grpcHeaders, openSocket, sessionOf } from '../support/calls/http2.ts';
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
  calls: (headers: object, from: number) => calls(1_000, headers, from),
  'frames that are no call': () => times(100_000, () => frame('window', 0, 0, Buffer.of(0, 0, 0, 1))),
};

for (const [title, flood] of Object.entries(FLOODS)) {
  test(`Connections - ${title} end one, with a key too if none is admitted, but not an edge's`, async (t) => {
    const server = await startScriptedServer(t);
    const isEnded = async (id: string, headers: object) => {
      const socket = await open(t, server, id, headers);
      for (let from = 3; from < 10_000 && !socket.closed; from += 2_000) {
        socket.write(flood(headers, from));
        await delay(200);
      }
      return socket.closed;
    };
    const { edge, caller } = KNOWN;
    const found = await Promise.all([isEnded('edge', edge), isEnded('caller', caller), isEnded('stranger', {})]);
    t.deepEqual(found, [false, true, true]);
  });
}

test('Connections - with a valid key one may send as many calls and large messages as its limits admit', async (t) => {
  const { address, key } = await startTestServer(t);
  const session = await sessionOf(t, address);
  const unknown = Buffer.concat([Buffer.of(0x7a, 0xe0, 0xd4, 0x03), Buffer.alloc(60_000)]); // a field of 60,000 bytes
  const call = () => exchange(session, grpcHeaders(Categories.listCategories.path, key), { body: grpcFrame(unknown) });
  await call(); // so it is a stranger's no more
  for (let round = 0; round < 3; round += 1) {
    const answers = await Promise.all(Array.from({ length: 90 }, call));
    for (const { headers } of answers) t.is(headers.get('grpc-status'), '0');
  }
});

test('Connections - one without calls ends in 12 s though its peer neither closes it nor reads', async (t) => {
  const server = new Server({ 'grpc.enable_channelz': 0 });
  const much = Buffer.alloc(16 * 2 ** 20);
  handleCalls(server, {
    isEdge: () => false,
    onCall(stream) {
      stream.respond();
      stream.end(much);
      return undefined;
    },
  });
  t.teardown(() => server.forceShutdown());
  const port = await promisify(server.bindAsync).call(server, '127.0.0.1:0', ServerCredentials.createInsecure());
  const open = () => connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
  const [mute, blocked] = [open().resume(), open()];
  mute.write(PREFACE);
  const largeWindow = frame('settings', 0, 0, Buffer.of(0, 4, 0x7f, 0, 0, 0));
  const window = frame('window', 0, 0, Buffer.of(0x7f, 0, 0, 0));
  const call = headersFrame(1, { ...PLAIN, ...grpcHeaders('/a.b.C/D') }, END_STREAM);
  blocked.write(Buffer.concat([PREFACE, largeWindow, window, call]));
  await delay(13_000);
  await once(blocked.resume(), 'end');
  t.true(blocked.bytesRead < much.length);
  const isEnded = () => {
    mute.write(frame('settings', 0)); // nobody is there
    return mute.closed;
  };
  await until(isEnded, 'the end of the mute one', 2_000);
});

test('Connections - one whose peer has vanished ends in 45 s, an edge’s too, and no other with a call', async (t) => {
  t.timeout(90_000);
  const server = await startScriptedServer(t);
  const waiting = { ...grpcHeaders(WebServiceService.getFile.path), 'x-gate': '1' };
  const there = await sessionOf(t, `127.0.0.1:${server.port}`); // it answers pings, as no socket here does
  void exchange(there, { ...waiting, 'x-request-id': 'there' });
  const { edge, caller } = KNOWN;
  const vanished = await Promise.all([
    open(t, server, 'edge', { ...waiting, ...edge }),
    open(t, server, 'caller', { ...waiting, ...caller }),
    open(t, server, 'stranger', waiting),
  ]);
  await delay(35_000);
  t.false(vanished.some(({ closed }) => closed));
  await until(() => vanished.every(({ closed }) => closed), 'the end of all', 10_000);
  t.false(there.closed || there.destroyed);
});

test('Connections - one of a known caller stays while its calls fail because no key can be looked up', async (t) => {
  const { address, key, store } = await startTestServer(t);
  const session = await sessionOf(t, address);
  const call = async () => (await exchange(session, grpcHeaders(Categories.listCategories.path, key))).headers;
  await call();
  store.accounts.findKey = () => Promise.reject(new StoreUnavailable('away'));
  await delay(4_100); // for so long a key stays known
  for (let round = 0; round < 6; round += 1) {
    const answers = await Promise.all(Array.from({ length: 50 }, call));
    for (const headers of answers) t.is(headers.get('grpc-status'), `${Status.UNAVAILABLE}`);
  }
  t.false(session.destroyed);
});

test('Connections - a stop ends those whose peers do not close them', async (t) => {
  const { address, drain } = await startTestServer(t);
  const socket = openSocket(address).resume();
  Object.assign(socket, { allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  socket.write(PREFACE);
  await once(socket, 'data');
  await Promise.race([drain(), delay(15_000).then(() => t.fail('the stop waits for it'))]);
  t.pass();
});

// Alone, as the next: others of this file would make them late.
test.serial('Strangers - while all together have sent much, each may send little', async (t) => {
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

test.serial('Strangers - what they sent together is forgotten when the last has gone', async (t) => {
  const server = await startScriptedServer(t);
  const flooders: Socket[] = [];
  for (let count = 0; count < 15; count += 1) flooders.push(await open(t, server, ''));
  for (const flooder of flooders) flooder.write(calls(90));
  await delay(1_000);
  for (const flooder of flooders) flooder.destroy();
  await delay(3_000);
  const next = await open(t, server, 'next', {});
  next.write(calls(8)); // more than a few bytes, and not more than one may call beside resets
  await delay(500);
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

test('Connections - with a key 200 calls that need none may come in 10 s, as without a key', async (t) => {
  const server = await startScriptedServer(t);
  const known = await open(t, server, 'known', { 'x-account': '3' });
  for (let from = 3; from < 390; from += 30) {
    known.write(calls(15, {}, from));
    await delay(20);
  }
  await delay(500);
  t.false(known.closed);
});

test('Strangers - calls of a caller with a key whose connection breaks are no resets of theirs', async (t) => {
  const server = await startScriptedServer(t);
  for (let count = 0; count < 11; count += 1) {
    const known = await open(t, server, `broken-${count}`, KNOWN.caller);
    const waiting = { ...PLAIN, ...grpcHeaders(WebServiceService.getFile.path), 'x-gate': '1' };
    const idOf = (index: number) => `${count}-${index}`;
    known.write(times(98, (index) => headersFrame(2 * index + 3, { ...waiting, 'x-request-id': idOf(index) })));
    await until(() => server.find(idOf(97)), 'all calls');
    known.destroy();
  }
  await delay(500);
  const next = await open(t, server, 'after', {});
  next.write(calls(20));
  await delay(500);
  t.false(next.closed);
});

test('Strangers - a caller stays known that ends a call before its key has been judged', async (t) => {
  const server = await startScriptedServer(t);
  const caller = await open(t, server, 'caller', KNOWN.caller);
  const early = { ...PLAIN, ...grpcHeaders(WebServiceService.getFile.path), 'x-request-id': 'early', 'x-gate': '1' };
  caller.write(headersFrame(3, early));
  await until(() => server.find('early'), 'the early call');
  caller.write(frame('reset', 3, 0, Buffer.of(0, 0, 0, constants.NGHTTP2_CANCEL)));
  await delay(500);
  const flooders: Socket[] = [];
  for (let count = 0; count < 15; count += 1) flooders.push(await open(t, server, ''));
  for (const flooder of flooders) flooder.write(calls(90)); // strangers may send little now
  caller.write(times(20_000, () => frame('window', 0, 0, Buffer.of(0, 0, 0, 1))));
  await delay(1_000);
  t.false(caller.closed);
});

test('Strangers - of more than 32 idle ones of an address the oldest ends; 127.0.0.0/8 is one address', async (t) => {
  const server = await startScriptedServer(t);
  const withCalls = await Promise.all(Object.entries(KNOWN).map(([id, headers]) => open(t, server, id, headers)));
  withCalls.push(await open(t, server, 'stranger', {}));
  const oldest = await open(t, server, '', undefined, '127.0.0.2');
  for (let count = 0; count < 31; count += 1) await once(await open(t, server, ''), 'data');
  t.false(oldest.closed);
  for (let count = 0; count < 3; count += 1) await once(await open(t, server, ''), 'data');
  t.true(await until(() => oldest.closed, 'the end of the oldest'));
  t.false(withCalls.some(({ closed }) => closed));
});

test('Strangers - of more than 128 of an address one ends, also if all have calls', async (t) => {
  const server = await startScriptedServer(t);
  const all: Socket[] = [];
  for (let count = 0; count < 128; count += 1) all.push(await open(t, server, `${count}`, {}));
  t.false(all.some(({ closed }) => closed));
  await open(t, server, 'last', {});
  t.true(await until(() => all[0]?.closed, 'the end of the oldest'));
  t.is(all.filter(({ closed }) => closed).length, 1);
});

test('Connections - of more than 1,000 with a key the oldest idle one of the account with most ends', async (t) => {
  const server = await startScriptedServer(t);
  const openAndLeave = async (id: string, headers: object) => {
    const socket = await open(t, server, id, headers);
    socket.write(frame('reset', 1, 0, Buffer.of(0, 0, 0, constants.NGHTTP2_CANCEL))); // an account has some hundred
    return socket;
  };
  const alone = await openAndLeave('alone', KNOWN.caller);
  let id = 3;
  const ping = setInterval(() => {
    alone.write(calls(1, {}, id)); // it is never idle for 10 s
    id += 2;
  }, 5_000);
  t.teardown(() => clearInterval(ping));
  const all = [];
  for (let count = 0; count < 1_100; count += 1) all.push(await openAndLeave(`${count}`, { 'x-account': '2' }));
  t.deepEqual([alone.closed, all[0]?.closed, all.at(-1)?.closed], [false, true, false]);
});
