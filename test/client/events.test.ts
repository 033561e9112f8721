/** The typed client's `events`: through lost connections and restarts, and to every end that it can have. */
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { AdminServiceService as Admin } from '../../gen/petstore/admin/v1/admin.ts';
import {
  EventServiceService,
  type WatchEventsRequest,
  type WatchEventsResponse,
} from '../../gen/petstore/v1/events.ts';
import { createClient, type EventsOptions, type PetstoreClient, PetstoreError } from '../../src/client/index.ts';
import { TcpProxy } from '../support/chaos/proxy.ts';
import { openEvents } from '../support/event-source.ts';
import { connectOperator, type Operator } from '../support/operator.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<TestStack & { operator: Operator }>;
const LIMITS = { perMinute: 100_000, perDay: 1_000_000 };

test.before(async (t) => {
  const stack = await startTestStack({ EVENT_STREAMS: '3' });
  t.context = { ...stack, operator: await connectOperator(stack) };
});
test.after.always(async ({ context }) => {
  context.operator.close();
  await context.close();
});

/** A client with a key of an account of its own. */
async function newClient({ operator, publicAddress }: TestStack & { operator: Operator }, address = publicAddress) {
  const { id } = await operator.account(LIMITS);
  const { id: keyId, key } = await operator.key(id);
  return { key, keyId, client: createClient({ address, apiKey: key }) };
}

/** Follows in the background. */
function follow(client: PetstoreClient, options: EventsOptions = {}, onEvent = () => {}) {
  const ids: bigint[] = [];
  const names: (string | undefined)[] = [];
  const checkpoints: bigint[] = [];
  const abort = new AbortController();
  const done = (async () => {
    const onCheckpoint = (id: bigint) => checkpoints.push(id);
    for await (const event of client.events({ signal: abort.signal, onCheckpoint, ...options })) {
      ids.push(event.id);
      names.push(event.category?.name);
      onEvent();
    }
  })();
  done.catch(() => undefined);
  return {
    ids,
    names,
    checkpoints,
    abort,
    done,
    began: () => until(() => checkpoints.length > 0, 'the first checkpoint'),
  };
}

/** Creates categories one after the other, and returns their names. */
async function change({ rest }: TestStack, prefix: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `${prefix} ${i}`);
  for (const name of names) await rest.category(name);
  return names;
}

const CATEGORIES = { types: ['category.created'] };

test.serial('events - goes on by itself after cut connections, without skipping or repeating one', async (t) => {
  const proxy = await TcpProxy.open(t.context.config.port);
  const { client } = await newClient(t.context, `127.0.0.1:${proxy.port}`);
  const { names, checkpoints, abort, began } = follow(client, CATEGORIES);
  await began();
  const created: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    created.push(...(await change(t.context, `cut ${round}`, 3)));
    await until(() => names.length > 0, 'an event');
    proxy.cut();
  }
  await until(() => names.length >= created.length, 'every event');
  t.deepEqual(names, created);
  t.true(checkpoints.length > 1, 'it has reconnected');
  abort.abort();
  await client.close();
  await proxy.close();
});

test.serial(
  'events - an id of an event, and one that onCheckpoint got, are where another program goes on',
  async (t) => {
    const { client } = await newClient(t.context);
    const first = follow(client, CATEGORIES);
    await first.began();
    const created = await change(t.context, 'cursor', 3);
    await until(() => first.ids.length === 3, 'the events');
    first.abort.abort();
    const second = follow(client, { ...CATEGORIES, after: first.ids[0] ?? 0n });
    const third = follow(client, { ...CATEGORIES, after: first.checkpoints[0] ?? 0n });
    await until(() => second.names.length === 2 && third.names.length === 3, 'the rest');
    t.deepEqual([second.names, third.names], [created.slice(1), created]);
    t.deepEqual(second.checkpoints, [first.ids[0]]);
    second.abort.abort();
    third.abort.abort();
    await client.close();
  },
);

test.serial('events - EVENTS_EXPIRED is thrown at once', async (t) => {
  const { client } = await newClient(t.context);
  await change(t.context, 'expired', 3);
  const database = new DatabaseSync(join(t.context.config.dataDir, 'petstore.sqlite'), { timeout: 10_000 });
  database.exec('DELETE FROM events WHERE id < (SELECT max(id) FROM events)');
  database.close();
  const error = await t.throwsAsync(follow(client, { after: 1n }).done, { instanceOf: PetstoreError });
  t.is(error?.code, 'EVENTS_EXPIRED');
  await client.close();
});

test.serial('events - API_KEY_INVALID is thrown at once, at the start and when the key is revoked', async (t) => {
  const { operator, publicAddress } = t.context;
  const stranger = createClient({ address: publicAddress, apiKey: `pst_${'x'.repeat(38)}` });
  await t.throwsAsync(follow(stranger).done, { code: 'API_KEY_INVALID' });
  const { client, keyId } = await newClient(t.context);
  const { done, began } = follow(client);
  await began();
  await operator.call(Admin.revokeKey, { keyId });
  await t.throwsAsync(done, { instanceOf: PetstoreError, code: 'API_KEY_INVALID' });
  await Promise.all([client.close(), stranger.close()]);
});

/** Resolves when an account has room for all of its streams: those of before have ended at the server. */
async function hasRoom({ rest }: TestStack, key: string): Promise<void> {
  const open = () => openEvents(`${rest.url}/events/stream`, key);
  await until(
    async () => {
      const streams = await Promise.all([open(), open(), open()]);
      for (const { close } of streams) close();
      return streams.every(({ response }) => response.status === 200);
    },
    'room for three streams',
    5_000,
  );
}

test.serial('events - an abort, a break and a close end the iteration, and the stream at the server', async (t) => {
  const { client, key } = await newClient(t.context);
  const [one, two] = [follow(client), follow(client)];
  await Promise.all([one.began(), two.began()]);
  const [first, second] = [new Error('enough'), new Error('enough of this too')];
  one.abort.abort(first);
  two.abort.abort(second);
  t.is(await t.throwsAsync(one.done), first);
  t.is(await t.throwsAsync(two.done), second);
  const signal = AbortSignal.abort(new Error('too late'));
  await t.throwsAsync(follow(client, { signal }).done, { message: 'too late' });
  await hasRoom(t.context, key);

  await change(t.context, 'buffered', 5);
  const after = BigInt((await t.context.rest.get('/events')).body[0].id);
  for (let i = 0; i < 5; i += 1) for await (const _ of client.events({ after })) break;
  const { abort, done, ids } = follow(client, { after }, () => abort.abort(new Error('after the first')));
  await t.throwsAsync(done, { message: 'after the first' });
  t.is(ids.length, 1, 'nothing comes that had been received before');
  await hasRoom(t.context, key);

  const last = follow(client);
  await last.began();
  await client.close();
  await t.throwsAsync(last.done, { instanceOf: PetstoreError, code: 'CANCELLED', message: 'the client is closed' });
  await t.throwsAsync(follow(client).done, { code: 'CANCELLED' });
  await hasRoom(t.context, key);
});

test.serial('events - an abort while it waits for the server ends the iteration at once', async (t) => {
  const proxy = await TcpProxy.open(t.context.config.port);
  const { client } = await newClient(t.context, `127.0.0.1:${proxy.port}`);
  const { done, abort, began } = follow(client);
  await began();
  proxy.refuse();
  await new Promise((resolve) => setTimeout(resolve, 1_500)); // a few attempts
  const beganMs = performance.now();
  abort.abort(new Error('no longer'));
  await t.throwsAsync(done, { message: 'no longer' });
  t.true(performance.now() - beganMs < 1_000);
  await client.close();
  await proxy.close();
});

test('events - a connection that has gone silent is replaced', async (t) => {
  // It passes the first connection on for a moment, and never closes it.
  let connections = 0;
  const line = createServer((near) => {
    connections += 1;
    const far = connect(t.context.config.port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const)
      from.on('error', () => to.destroy()).pipe(to);
    if (connections === 1) silence = () => [near, far].map((socket) => socket.unpipe());
  });
  let silence = (): unknown => undefined;
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
  const address = line.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const { client } = await newClient(t.context, `127.0.0.1:${port}`);
  const { names, abort, began } = follow(client, CATEGORIES);
  await began();
  silence();
  const created = await change(t.context, 'silence', 2);
  await until(() => created.every((name) => names.includes(name)), 'the events', 60_000);
  t.is(connections, 2);
  abort.abort();
  await client.close();
  line.close();
});

test('events - a stream without heartbeats is opened again', async (t) => {
  const requests: WatchEventsRequest[] = [];
  const server = new Server();
  server.addService(EventServiceService, {
    listEvents: () => undefined,
    watchEvents(call: ServerWritableStream<WatchEventsRequest, WatchEventsResponse>) {
      requests.push(call.request);
      call.write({ checkpoint: { id: 7n } });
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const { client } = await newClient(t.context, `127.0.0.1:${port}`);
  const { abort } = follow(client);
  await until(() => requests.length === 2, 'a second stream', 60_000);
  t.deepEqual(requests[1], { after: 7n, types: [] });
  abort.abort();
  await client.close();
  server.forceShutdown();
});
