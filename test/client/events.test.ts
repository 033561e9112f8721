/** Every end that the typed client's `events` can have. */
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Metadata, Server, ServerCredentials, type ServerWritableStream, status as Status } from '@grpc/grpc-js';
import { createClient, type EventsOptions, type PetstoreClient } from '../../gen/client/index.ts';
import type { Category } from '../../gen/petstore/v1/categories.ts';
import {
  EventServiceService,
  type WatchEventsRequest,
  type WatchEventsResponse,
} from '../../gen/petstore/v1/events.ts';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import { fresh, type SharedBy } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';

type Stream = ServerWritableStream<WatchEventsRequest, WatchEventsResponse>;

const test = fresh(undefined, async (t) => {
  /** The streams that the server has got, which the test writes and ends. */
  const streams: Stream[] = [];
  const server = new Server();
  t.teardown(() => server.forceShutdown());
  const watchEvents = (stream: Stream) => void streams.push(stream);
  server.addService(EventServiceService, { listEvents: () => undefined, watchEvents });
  const port = await promisify(server.bindAsync).call(server, '127.0.0.1:0', ServerCredentials.createInsecure());
  const client = createClient({ address: `127.0.0.1:${port}`, apiKey: 'key' });
  t.teardown(() => client.close());
  return { server, port, streams, client };
});
type Context = SharedBy<typeof test>;

function follow(client: PetstoreClient, options: EventsOptions = {}, onEvent = async () => {}) {
  const categories: (Category | undefined)[] = [];
  const checkpoints: bigint[] = [];
  const abort = new AbortController();
  const onCheckpoint = (id: bigint) => checkpoints.push(id);
  const done = (async () => {
    for await (const { category } of client.events({ signal: abort.signal, onCheckpoint, ...options })) {
      categories.push(category);
      await onEvent();
    }
  })();
  done.catch(() => undefined);
  return { categories, checkpoints, abort, done };
}

/** The stream that the client has opened as the nth one. */
function nth({ streams }: Context, n: number): Promise<Stream> {
  return until(() => streams[n], `stream ${n}`);
}

/** `pushbackMs` is the time that a server tells to wait. */
function end(stream: Stream, code: Status, pushbackMs?: number): void {
  const metadata = new Metadata();
  if (pushbackMs !== undefined) metadata.set('grpc-retry-pushback-ms', `${pushbackMs}`);
  stream.emit('error', { code, details: 'ended', metadata });
}

const event = (id: bigint) => ({ event: { id, type: 'category.created', time: undefined, category: undefined } });
const checkpoint = (id: bigint) => ({ checkpoint: { id } });

test('events - a stream that has ended is opened again, after the last event or checkpoint', async (t) => {
  const { checkpoints, categories } = follow(t.context.client, { after: 2n, types: ['category.created'] });
  const first = await nth(t.context, 0);
  for (const message of [checkpoint(2n), event(3n), checkpoint(5n)]) first.write(message);
  end(first, Status.UNAVAILABLE);
  const second = await nth(t.context, 1);
  second.write(event(6n));
  second.end();
  const third = await nth(t.context, 2);
  const found = [first, second, third].map(({ request }) => request.after);
  t.deepEqual(found, [2n, 5n, 6n]);
  t.deepEqual(third.request.types, ['category.created']);
  t.deepEqual([checkpoints, categories.length], [[2n, 5n], 2]);
});

const PASSING = ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'CANCELLED', 'INTERNAL', 'UNKNOWN'] as const;
for (const name of PASSING) {
  test(`events - after ${name} the stream is opened again`, async (t) => {
    follow(t.context.client);
    const first = await nth(t.context, 0);
    first.write(checkpoint(1n)); // nor does grpc-js retry it from now on
    end(first, Status[name]);
    await t.notThrowsAsync(nth(t.context, 1));
  });
}

test('events - an error that a retry does not mend is thrown at once', async (t) => {
  const codes = ['OUT_OF_RANGE', 'UNAUTHENTICATED', 'INVALID_ARGUMENT', 'UNIMPLEMENTED'] as const;
  for (const [n, code] of codes.entries()) {
    const { done } = follow(t.context.client);
    end(await nth(t.context, n), Status[code]);
    await t.throwsAsync(done, { code });
  }
});

test('events - waits longer after each end without a message, and as long as the server says', async (t) => {
  follow(t.context.client);
  const beganMs = performance.now();
  (await nth(t.context, 0)).end();
  (await nth(t.context, 1)).end();
  const third = await nth(t.context, 2);
  const backoffMs = performance.now() - beganMs;
  t.true(backoffMs >= 600, `${backoffMs} ms`);
  end(third, Status.RESOURCE_EXHAUSTED, 2_000);
  await nth(t.context, 3);
  t.true(performance.now() - beganMs >= backoffMs + 2_000);
  const waitsMs: number[] = [];
  for (let n = 3; n < 8; n += 1) {
    (await nth(t.context, n)).write(checkpoint(1n));
    (await nth(t.context, n)).end();
    const endMs = performance.now();
    await nth(t.context, n + 1);
    waitsMs.push(performance.now() - endMs);
  }
  t.true(Math.min(...waitsMs) < 1_500, `after a message it is a short one again, not ${waitsMs}`);
});

test('events - an abort, a break and a close end the iteration, and the stream at the server', async (t) => {
  t.timeout(25_000); // a silent stream is given up after 35 s
  const { client } = t.context;
  const one = follow(client);
  const first = await nth(t.context, 0);
  one.abort.abort(new Error('enough'));
  await t.throwsAsync(one.done, { message: 'enough' });
  await until(() => first.cancelled, 'the end of the first stream');

  const two = follow(client, {}, async () => {
    await delay(200); // so that the others have been received
    two.abort.abort(new Error('after the first'));
  });
  const second = await nth(t.context, 1);
  for (const id of [1n, 2n, 3n]) second.write(event(id));
  await t.throwsAsync(two.done, { message: 'after the first' });
  t.is(two.categories.length, 1, 'nothing comes that had been received before');

  const broken = (async () => {
    for await (const _ of client.events()) break;
  })();
  const third = await nth(t.context, 2);
  third.write(event(1n));
  await broken;
  await until(() => second.cancelled && third.cancelled, 'the end of the others');

  const signal = AbortSignal.abort(new Error('too late'));
  await t.throwsAsync(follow(client, { signal }).done, { message: 'too late' });

  const waiting = follow(client);
  end(await nth(t.context, 3), Status.RESOURCE_EXHAUSTED, 600_000);
  setTimeout(() => waiting.abort.abort(new Error('no longer')), 500); // it waits by then, or has not begun to
  await t.throwsAsync(waiting.done, { message: 'no longer' });

  const last = follow(client);
  await nth(t.context, 4);
  const isClosed = { code: 'CANCELLED', message: 'the client is closed' };
  await client.close();
  await t.throwsAsync(last.done, isClosed);
  await t.throwsAsync(follow(client).done, isClosed);
  t.is(t.context.streams.length, 5);
});

test('events - what can not be encoded throws, and nothing is sent', async (t) => {
  for (const options of [{ after: 6.5 }, { after: 'last' }, { after: 2n ** 63n }] as unknown as EventsOptions[]) {
    await t.throwsAsync(follow(t.context.client, options).done, { instanceOf: TypeError, message: /can't be encoded/ });
  }
  t.is(t.context.streams.length, 0);
  follow(t.context.client, { after: 60 } as unknown as EventsOptions); // as JavaScript has it
  t.is((await nth(t.context, 0)).request.after, 60n);
});

test('events - a consumer that takes 36 s for an event keeps its stream', async (t) => {
  t.timeout(90_000);
  const { categories } = follow(t.context.client, {}, () => delay(36_000));
  const stream = await nth(t.context, 0);
  for (const id of [1n, 2n]) stream.write(event(id));
  await until(() => categories.length === 2, 'the second event', 60_000);
  t.deepEqual([t.context.streams.length, stream.cancelled], [1, false]);
});

test('events - a connection that has gone silent is replaced', async (t) => {
  const proxy = await openProxy(t, t.context.port);
  const client = createClient({ address: `127.0.0.1:${proxy.port}`, apiKey: 'key' });
  follow(client);
  await nth(t.context, 0);
  proxy.dropResponses();
  await t.notThrowsAsync(until(() => proxy.accepted > 1, 'a second connection', 60_000));
  await client.close();
});

test('events - a stream without heartbeats is opened again', async (t) => {
  follow(t.context.client);
  (await nth(t.context, 0)).write(checkpoint(7n));
  await until(() => t.context.streams.length === 2, 'a second stream', 60_000);
  t.like(t.context.streams[1]?.request, { after: 7n, types: [] });
});
