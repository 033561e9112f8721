/** The feed in requests of every shape, and over every protocol. */
import { connect } from 'node:http2';
import { Client, type ServiceError, status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import {
  EventServiceService as Events,
  ListEventsResponse,
  WatchEventsRequest,
  WatchEventsResponse,
} from '../../../gen/petstore/v1/events.ts';
import { call, isConnectError, isSuccess } from '../../support/connect-client.ts';
import { isError, isInvalid } from '../../support/contract.ts';
import { bearer, insecure } from '../../support/grpc.ts';
import { grpcFrame, openSocket, targetOf } from '../../support/hostile/sockets.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { until } from '../../support/until.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack({ EVENT_STREAMS: '100' });
  await t.context.rest.category();
});
test.after.always((t) => t.context.close());

/** What a GET over HTTP/1.1 with these raw header lines begins with. */
async function rawGet({ publicAddress, key }: TestStack, lines: readonly Buffer[]): Promise<string> {
  const socket = openSocket(targetOf(publicAddress, '127.0.0.1'));
  let received = '';
  socket.on('data', (bytes: Buffer) => {
    received += bytes.toString('latin1');
  });
  const head = `GET /events/stream HTTP/1.1\r\nhost: petstore\r\nauthorization: Bearer ${key}\r\n`;
  socket.write(Buffer.concat([Buffer.from(head), ...lines.flatMap((line) => [line, Buffer.from('\r\n')])]));
  socket.write('\r\n');
  await until(() => /\r\n\r\n[\s\S]+(\n\n|})/.test(received), 'the response');
  socket.destroy();
  return received;
}

const IS_ID = ['0', '1', '01', ' 1 ', '\t1'];
const IS_NO_ID = ['x', '-1', '+1', '1.0', '1e0', '1 1', '1,1', '9'.repeat(19), '{}', 'null'];

test('Last-Event-ID - of every shape over HTTP/1.1: an id goes on after it, an empty one is none', async (t) => {
  const lineOf = (id: string) => [Buffer.from(`last-event-id: ${id}`, 'latin1')];
  for (const id of IS_ID) t.regex(await rawGet(t.context, lineOf(id)), /^HTTP\/1.1 200 [\s\S]*id: [01]\n/, id);
  for (const id of ['', ' ']) t.regex(await rawGet(t.context, lineOf(id)), /^HTTP\/1.1 200 /, id);
  for (const id of IS_NO_ID) t.regex(await rawGet(t.context, lineOf(id)), /^HTTP\/1.1 400 [\s\S]*INVALID_ARGUMENT/, id);
  for (const id of ['1\u00e9', '\u732b', '\u00b2'])
    t.regex(
      await rawGet(t.context, [Buffer.from(`last-event-id: ${id}`)]),
      /^HTTP\/1.1 400 [\s\S]*INVALID_ARGUMENT/,
      id,
    );
  t.regex(await rawGet(t.context, [...lineOf('1'), ...lineOf('1')]), /^HTTP\/1.1 400 [\s\S]*INVALID_ARGUMENT/, 'twice');
});

test('Last-Event-ID - of every shape over HTTP/2', async (t) => {
  const { rest, key } = t.context;
  const session = connect(rest.url);
  const statusOf = (id: string) =>
    new Promise((resolve, reject) => {
      const stream = session.request({
        ':path': '/events/stream',
        authorization: `Bearer ${key}`,
        'last-event-id': Buffer.from(id, 'utf8').toString('latin1'),
      });
      stream.on('error', reject).on('response', ({ ':status': httpStatus }) => {
        resolve(httpStatus);
        stream.on('error', () => undefined).destroy();
      });
    });
  for (const id of ['0', '1', '01', '']) t.is(await statusOf(id), 200, id);
  for (const id of ['x', '-1', '1.0', '1,1', '9'.repeat(19), '1\u00e9', '\u732b']) t.is(await statusOf(id), 400, id);
  session.destroy();
});

test('after - what is no id, or not reached, is a 400 that names it; so is an unknown parameter', async (t) => {
  const { rest } = t.context;
  for (const path of ['/events', '/events/stream']) {
    for (const after of ['-1', '999999999', '9223372036854775807'])
      isInvalid(t, await rest.get(`${path}?after=${after}`), 'after');
    for (const query of ['after=x', 'after=1.5', 'after=9223372036854775808', 'after=']) {
      t.is((await rest.get(`${path}?${query}`)).status, 400, `${path} ${query}`);
    }
    isInvalid(t, await rest.get(`${path}?after`), 'after');
    isInvalid(t, await rest.get(`${path}?after=0&after=1`), 'after');
    isInvalid(t, await rest.get(`${path}?colour=red`), 'colour');
    isInvalid(t, await rest.get(`${path}?types=pet`), 'types[0]');
  }
  isInvalid(t, await rest.get('/events/stream?limit=1'), 'limit');
});

test('Methods - any other than GET and HEAD is a 405 with Allow', async (t) => {
  const { rest } = t.context;
  for (const path of ['/events', '/events/stream']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const response = await rest.send(method, path, { json: {} });
      isError(t, response, 405, 'METHOD_NOT_ALLOWED');
      t.is(response.headers.get('allow'), 'GET, HEAD');
    }
  }
});

test('Connect - ListEvents works, WatchEvents is unimplemented', async (t) => {
  const list = await call(
    t.context,
    Events.listEvents.path,
    Events.listEvents.requestSerialize({ after: 0n, types: [] }),
  );
  t.is(ListEventsResponse.decode(isSuccess(t, list)).events[0]?.id, 1n);
  const message = WatchEventsRequest.encode({ types: [] }).finish();
  const watch = await call(t.context, Events.watchEvents.path, message);
  isConnectError(t, watch, 501, 'unimplemented', 'ROUTE_NOT_FOUND');
});

test('gRPC-Web - WatchEvents streams a checkpoint, then events', async (t) => {
  const { rest, key } = t.context;
  const abort = new AbortController();
  const response = await fetch(`${rest.url}${Events.watchEvents.path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/grpc-web+proto', 'x-grpc-web': '1' },
    body: grpcFrame(WatchEventsRequest.encode({ after: 0n, types: [] }).finish()),
    signal: abort.signal,
  });
  t.is(response.status, 200);
  const found: WatchEventsResponse[] = [];
  let bytes = Buffer.alloc(0);
  for await (const chunk of response.body ?? []) {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
      t.is(bytes[0], 0, 'a message');
      found.push(WatchEventsResponse.decode(bytes.subarray(5, 5 + bytes.readUInt32BE(1))));
      bytes = bytes.subarray(5 + bytes.readUInt32BE(1));
    }
    if (found.length >= 2) break;
  }
  t.is(found[0]?.checkpoint?.id, 0n);
  t.is(found[1]?.event?.id, 1n);
  abort.abort();
});

for (const port of ['public', 'private'] as const) {
  test(`gRPC - WatchEvents on the ${port} port: a checkpoint, events; the caller's deadline ends it`, async (t) => {
    const { publicAddress, grpcAddress, key, rest } = t.context;
    const client = new Client(port === 'public' ? publicAddress : grpcAddress, insecure);
    const { path, requestSerialize, responseDeserialize } = Events.watchEvents;
    const options = { deadline: Date.now() + 3_000 };
    const messages: WatchEventsResponse[] = [];
    const ended = new Promise<ServiceError>((resolve) => {
      client
        .makeServerStreamRequest(path, requestSerialize, responseDeserialize, { types: [] }, bearer(key), options)
        .on('data', (message: WatchEventsResponse) => messages.push(message))
        .on('error', (error: ServiceError) => resolve(error));
    });
    await until(() => messages.length === 1, 'the first message');
    const id = await rest.category();
    await until(() => messages.length > 1, 'an event');
    t.is((await ended).code, status.DEADLINE_EXCEEDED);
    const [first, ...events] = messages;
    t.true((first?.checkpoint?.id ?? 0n) >= 1n);
    t.true(events.some(({ event }) => event?.category?.id === BigInt(id)));
    t.true(events.every(({ event }) => (event?.id ?? 0n) > (first?.checkpoint?.id ?? 0n)));
    client.close();
  });
}

test('gRPC - a checkpoint comes every 15 s while nothing of its types happens', async (t) => {
  t.timeout(60_000);
  const { publicAddress, key, rest } = t.context;
  const client = new Client(publicAddress, insecure);
  const { path, requestSerialize, responseDeserialize } = Events.watchEvents;
  const checkpoints: bigint[] = [];
  const stream = client
    .makeServerStreamRequest(path, requestSerialize, responseDeserialize, { types: ['order.deleted'] }, bearer(key))
    .on('error', () => undefined)
    .on('data', ({ checkpoint }: WatchEventsResponse) => checkpoints.push(checkpoint?.id ?? -1n));
  await until(() => checkpoints.length === 1, 'the first checkpoint');
  await rest.category();
  await until(() => checkpoints.length === 2, 'the next checkpoint', 20_000);
  t.true((checkpoints[1] ?? 0n) > (checkpoints[0] ?? 0n), 'up to it everything has been sent');
  stream.cancel();
  client.close();
});
