/** The private parts of grpc-js that src/platform/rpc/private-parts.ts uses are there, and do what the server needs. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { status as Code, Server, ServerCredentials } from '@grpc/grpc-js';
import test, { type ExecutionContext } from 'ava';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { handleCalls } from '../../src/platform/rpc/private-parts.ts';
import { END_STREAM, frame, headersFrame, PLAIN, PREFACE } from '../support/calls/frames.ts';
import { exchange, grpcFrame, grpcHeaders, openSocket, sessionOf } from '../support/calls/http2.ts';
import { startTestServer } from '../support/service/server.ts';
import { until } from '../support/until.ts';
import { EDGE_SECRET, request, type ScriptedServer, startScriptedServer, streamsOf } from './scripted-server.ts';

test('grpc-js - an error before a call can be answered resets that call alone', async (t) => {
  const server = await startScriptedServer(t);
  const broken = request(server.port, { id: 'broken', headers: { 'x-broken': '1' } });
  await until(() => broken.stream.closed, 'the reset');
  t.is(broken.stream.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
  const caller = request(server.port, { id: 'whole' });
  await until(() => server.find('whole'), 'the next call');
  for (const { session } of [broken, caller]) session.destroy();
});

async function open(t: ExecutionContext, server: ScriptedServer, id: string, headers: Record<string, string> = {}) {
  const caller = request(server.port, { isStream: true, id, headers });
  t.teardown(() => caller.session.destroy());
  return { caller, ...(await until(() => server.find(id), 'the call')) };
}

/** Opens a call of this id, and ends 5,000 others on its connection early. Resolves with both ends of it. */
async function endEarly(t: ExecutionContext, server: ScriptedServer, id: string, headers: Record<string, string>) {
  const { caller, session } = await open(t, server, id, headers);
  for (let ended = 0; ended < 5_000 && !caller.session.destroyed; ended += 100) {
    const streams = Array.from({ length: 100 }, (_, index) => {
      const malformed = index % 2 === 0 ? {} : { ':authority': 'user@host' };
      return caller.session.request({ ...grpcHeaders('/a.b.C/D'), ...malformed }, { endStream: false });
    });
    for (const stream of streams) stream.on('error', () => undefined).close(constants.NGHTTP2_CANCEL);
    await until(() => streams.every(({ destroyed }) => destroyed), 'the end of the calls');
  }
  if (session === undefined) throw new Error('the call has ended');
  return { caller, session };
}

test("grpc-js - an edge's connection stays open however many of its calls end early, another does not", async (t) => {
  const server = await startScriptedServer(t);
  const edge = await endEarly(t, server, 'edge', { 'x-petstore-edge': EDGE_SECRET });
  await until(() => streamsOf(edge.session) === 1, 'the end of the calls at the server', 20_000);
  const other = await endEarly(t, server, 'other', {});
  const found = [edge.caller, other.caller].map(({ session }) => session.closed);
  t.deepEqual(found, [false, true]);
  const next = await open(t, server, 'next');
  next.step('end');
  t.is(await next.caller.outcome, 'answered');
});

/** The reset of a call that waits for its message, and of one that has been answered when it comes. */
const RESETS: readonly (readonly [path: string, flags: number, code: number])[] = [
  [Pets.listPets.path, 0, constants.NGHTTP2_NO_ERROR],
  ['/a.b.C/D', END_STREAM, constants.NGHTTP2_CANCEL],
];

test('grpc-js - resets by any code end connections; those of strangers count apart', async (t) => {
  for (const reset of RESETS) await endedByResets(t, ...reset);
});

async function endedByResets(t: ExecutionContext, path: string, flags: number, code: number) {
  const { address, key, logs } = await startTestServer(t);
  const open = async (known: string | undefined) => {
    const call = { ...PLAIN, ...grpcHeaders(Pets.listPets.path, known), 'x-request-id': randomUUID() };
    const next = { ...call, ':path': path };
    const socket = openSocket(address);
    t.teardown(() => socket.destroy());
    socket.write(Buffer.concat([PREFACE, headersFrame(1, call), frame('data', 1, END_STREAM, grpcFrame())]));
    await until(() => logs.some(({ requestId }) => requestId === call['x-request-id']), 'the end of the call');
    await delay(100); // it is sent
    const end = (id: number) =>
      Buffer.concat([headersFrame(id, next, flags), frame('reset', id, 0, Buffer.of(0, 0, 0, code))]);
    return { socket, end };
  };
  const endMany = async ({ socket, end }: Awaited<ReturnType<typeof open>>, from: number, count: number) => {
    for (let id = from; id < from + 2 * count && !socket.destroyed; id += 100) {
      socket.write(Buffer.concat(Array.from({ length: 50 }, (_, index) => end(id + 2 * index))));
      await delay(10);
    }
    await delay(1_000);
    return socket.destroyed;
  };
  const caller = await open(key);
  await Promise.all(Array.from({ length: 12 }, async () => endMany(await open(undefined), 3, 150)));
  t.false(await endMany(caller, 3, 100), 'strangers have ended more than 1,000');
  t.true(await endMany(caller, 203, 2_000));
}

test('grpc-js - a connection without calls ends after 10 s, but not one with a call, nor an edge’s', async (t) => {
  const server = await startScriptedServer(t);
  const mute = connectTcp(server.port, '127.0.0.1').resume();
  const edge = await open(t, server, 'edge', { 'x-petstore-edge': EDGE_SECRET });
  const [idle, busy] = [await open(t, server, 'idle'), await open(t, server, 'busy')];
  for (const { step, caller } of [edge, idle]) {
    step('end');
    await caller.outcome;
  }
  await until(() => mute.closed && idle.caller.session.closed, 'the end of both', 30_000);
  await delay(1_000);
  t.deepEqual([edge.caller.session.closed, busy.caller.session.closed], [false, false]);
  busy.step('end');
  t.is(await busy.caller.outcome, 'answered');
});

test('grpc-js - a call with over 8 KiB of headers is reset, also of compressed ones, but not an edge’s', async (t) => {
  const server = await startScriptedServer(t);
  const session = await sessionOf(t, `127.0.0.1:${server.port}`);
  const cookie = Array.from({ length: 100 }, () => 'x'.repeat(500)); // compressed, each but the first is a byte
  const other = await exchange(session, { ...grpcHeaders('/a.b.C/D'), cookie });
  t.deepEqual([other.outcome, other.resetCode], ['reset', constants.NGHTTP2_ENHANCE_YOUR_CALM]);
  const edge = await exchange(session, { ...grpcHeaders('/a.b.C/D'), cookie, 'x-petstore-edge': EDGE_SECRET });
  t.is(edge.headers.get('grpc-status'), String(Code.UNIMPLEMENTED));
});

test('Node - a small call need not wait for the large ones of its connection, which has room for 1 MiB', async (t) => {
  const server = await startScriptedServer(t);
  const session = await sessionOf(t, `127.0.0.1:${server.port}`);
  t.true(await until(() => (session.state.remoteWindowSize ?? 0) >= 1_048_576, "the room of the server's connection"));
});

test('Node - a call may have 128 headers, more than Envoy lets through, and one more is refused', async (t) => {
  const server = await startScriptedServer(t);
  const session = await sessionOf(t, `127.0.0.1:${server.port}`);
  const call = { ':scheme': 'http', ':authority': 'x', ...grpcHeaders('/a.b.C/D') };
  const outcomes = [128, 129].map((count) => {
    const more = Array.from({ length: count - Object.keys(call).length }, (_, index) => [`x-${index}`, '']);
    return exchange(session, { ...call, ...Object.fromEntries(more) });
  });
  const [most, over] = await Promise.all(outcomes);
  t.is(most?.headers.get('grpc-status'), String(Code.UNIMPLEMENTED));
  t.deepEqual([over?.outcome, over?.resetCode], ['reset', constants.NGHTTP2_ENHANCE_YOUR_CALM]);
});

test('grpc-js - a condition in two lines is one list, and a CONNECT is no fault of the server', async (t) => {
  const server = await startTestServer(t);
  const { grpc, address, key, logs } = server;
  const petId = await grpc.pet();
  const etag = (await grpc.exchange(Pets.getPet, { petId })).headers.get('etag').join();
  const options: object = { strictSingleValueFields: false }; // of Node, not yet of its types
  const session = connect(`http://${address}`, options);
  t.teardown(() => session.destroy());
  const statusOf = async (headers: object, body: Buffer) =>
    (await exchange(session, headers as OutgoingHttpHeaders, { body })).headers.get('grpc-status');
  const update = (...ifMatch: string[]) => {
    const headers = { ...grpcHeaders(Pets.updatePet.path, key), 'if-match': ifMatch };
    return statusOf(headers, grpcFrame(Pets.updatePet.requestSerialize({ petId, pet: {} })));
  };
  for (const [tags, status] of [
    [['"other"', etag], Code.OK],
    [[etag, '"other"'], Code.OK],
    [['"other"', '"another"'], Code.ABORTED],
    [[etag, 'no tag'], Code.INVALID_ARGUMENT],
    [['"other" '], Code.ABORTED], // by itself Node leaves it out, and the update would go through
  ] as const) {
    t.is(await update(...tags), String(status), tags.join());
  }
  const { ':path': _, ...withoutPath } = grpcHeaders('', key);
  const method = { ':method': 'CONNECT', ':authority': 'x', ':scheme': undefined };
  t.is(await statusOf({ ...withoutPath, ...method }, Buffer.of()), String(Code.UNIMPLEMENTED));
  for (const { outcome } of logs) t.not(outcome, 'INTERNAL');
});

/** The kernel takes less, and the caller lets all of it through. */
const MUCH = Buffer.alloc(16 * 2 ** 20);
const EVERYTHING = Buffer.of(0x7f, 0, 0, 0);

/** Starts a server that answers each call with MUCH. Resolves with its port. */
async function startLavish(t: ExecutionContext, onStream: (stream: ServerHttp2Stream) => void): Promise<number> {
  const server = new Server({ 'grpc.enable_channelz': 0 });
  handleCalls(server, {
    isEdge: () => true,
    onCall(stream) {
      onStream(stream);
      stream.respond();
      stream.resume().end(MUCH);
      return undefined;
    },
  });
  t.teardown(() => server.forceShutdown());
  return promisify(server.bindAsync).call(server, '127.0.0.1:0', ServerCredentials.createInsecure());
}

test('Node - a connection takes calls beside those whose 16 MiB nobody reads: by itself it would refuse', async (t) => {
  const port = await startLavish(t, () => undefined);
  const session = await sessionOf(t, `127.0.0.1:${port}`);
  for (let count = 0; count < 4; count += 1) {
    const [headers] = await once(session.request(grpcHeaders('/a.b.C/D')), 'response');
    t.is(headers[':status'], 200);
  }
});

test('Node - a connection that the server ends amid the calls of one write ends no process', async (t) => {
  let calls = 0;
  const port = await startLavish(t, ({ session }) => {
    calls += 1;
    session?.destroy();
  });
  const headers = { ':method': 'POST', ...PLAIN, ':path': '/a.b.C/D' };
  const all = Array.from({ length: 20 }, (_, index) => 2 * index + 1).map((id) =>
    Buffer.concat([headersFrame(id, headers), frame('data', id, END_STREAM, Buffer.from('all'))]),
  );
  for (const connection of [1, 2]) {
    const socket = connectTcp(port, '127.0.0.1').on('error', () => undefined);
    socket.resume().write(Buffer.concat([PREFACE, ...all]));
    await until(() => socket.closed, `the end of connection ${connection}`);
    t.is(calls, connection);
  }
});

test('Node - a connection whose unread calls end amid a header block leaves nothing, however they end', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const streams: ServerHttp2Stream[] = [];
  let kept = 0;
  const collected = new FinalizationRegistry(() => {
    kept -= 1;
  });
  const port = await startLavish(t, (stream) => {
    streams.push(stream);
    collected.register(stream, undefined);
    kept += 1;
  });
  const endings: Record<string, (sockets: readonly Socket[]) => void> = {
    'the callers leave': () => undefined,
    'the server resets the calls': () => streams.forEach((stream) => void stream.destroy(new Error('unread'))),
    'the server ends the connections': () => streams.forEach(({ session }) => void session?.destroy()),
    'a frame is malformed': (sockets) => sockets.forEach((socket) => void socket.write(frame('reset', 0))),
  };
  for (const [ending, end] of Object.entries(endings)) {
    const sockets = Array.from({ length: 10 }, () => connectTcp(port, '127.0.0.1').pause());
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.write(Buffer.concat([PREFACE, frame('settings', 0, 0, Buffer.of(0, 4, ...EVERYTHING))]));
      socket.write(frame('window', 0, 0, EVERYTHING));
      socket.write(headersFrame(1, { ':method': 'POST', ...PLAIN, ':path': '/a.b.C/D' }));
    }
    await until(() => streams.length === sockets.length, `${ending}: the calls`);
    await delay(200); // until the kernel takes no more
    for (const socket of sockets) {
      socket.write(headersFrame(1, { 'x-first': 'x'.repeat(100), 'x-second': '' }).subarray(0, -1));
    }
    await delay(100);
    end(sockets);
    await delay(100);
    for (const socket of sockets) socket.resetAndDestroy();
    await until(() => streams.every(({ closed }) => closed), `${ending}: the end of the calls`);
    streams.length = 0;
    collect();
  }
  const areCollected = async () => {
    await delay(50);
    collect();
    return kept === 0;
  };
  t.true(await until(areCollected, 'the collection of the calls'));
});
