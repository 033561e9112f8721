/** Streams of events on two servers, while PostgreSQL stops and starts again, and while its network hangs. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { openEvents } from '../support/calls/event-source.ts';
import { watchEvents } from '../support/calls/watch-events.ts';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import { sharedMissing, startShared } from '../support/service/shared.ts';
import { type SharedBy, sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';

const test = sharing(sharedMissing, async (t) => {
  const shared = await startShared(t);
  const settings = await shared.settings();
  const url = new URL(settings.DATABASE_URL ?? '');
  const network = await openProxy(t, Number(url.port));
  url.port = String(network.port);
  const service = await startTestStack(t, { ...settings, DATABASE_URL: url.href, INSTANCES: '2' });
  t.teardown(() => network.restore());
  return { shared, network, service };
});
type Context = SharedBy<typeof test>;

/** A stream, and what it has got until now. */
interface Stream {
  readonly ids: number[];
  /** When a heartbeat came, by `performance.now()`. */
  readonly heartbeatsMs: number[];
  /** How it ended; undefined while it is open. */
  ended: string | undefined;
}

async function followRest(t: ExecutionContext<Context>): Promise<Stream> {
  const { rest, key } = t.context.service;
  const source = await openEvents(`${rest.url}/events/stream?after=0`, key);
  t.teardown(source.close);
  const { status } = source.response;
  const ended = status === 200 ? undefined : `HTTP ${status}`;
  const stream: Stream = { ids: [], heartbeatsMs: [], ended };
  if (ended !== undefined) return stream;
  void (async () => {
    for (let event = await source.next(); event !== undefined; event = await source.next()) {
      if (event.comment !== undefined) stream.heartbeatsMs.push(performance.now());
      if (event.data?.id !== undefined) stream.ids.push(event.data.id);
    }
    stream.ended = 'cleanly';
  })().catch((error: unknown) => (stream.ended = String(error)));
  return stream;
}

function followGrpc(t: ExecutionContext<Context>): Stream {
  const { publicAddress, key } = t.context.service;
  const heartbeatsMs: number[] = [];
  const { ids, ended, close } = watchEvents(publicAddress, key, {
    after: 0n,
    onMessage: ({ checkpoint }) => checkpoint?.id && heartbeatsMs.push(performance.now()),
  });
  t.teardown(close);
  const stream: Stream = { ids, heartbeatsMs, ended: undefined };
  void ended.then((error) => (stream.ended = error?.message ?? 'cleanly'));
  return stream;
}

/** Four of them, so that both servers have some. */
async function followAll(t: ExecutionContext<Context>): Promise<Stream[]> {
  await t.context.service.rest.category();
  const streams = [await followRest(t), await followRest(t), followGrpc(t), followGrpc(t)];
  await until(() => streams.every(({ ids }) => ids.length > 0), 'the first event');
  return streams;
}

/** Writes until one write succeeds, and waits until all streams have every event, once. */
async function allGoOn(t: ExecutionContext<Context>, streams: readonly Stream[]): Promise<void> {
  const { rest } = t.context.service;
  await until(async () => (await rest.post('/categories', { name: 'Cats' })).status === 201, 'a write', 30_000);
  for (let count = 0; count < 5; count += 1) await rest.category();
  const { body } = await rest.get('/events?limit=100');
  const expected = body.map(({ id }: { id: number }) => id);
  await until(() => streams.every(({ ids }) => ids.length >= expected.length), 'the events').catch(() => undefined);
  for (const { ids, ended } of streams) {
    t.is(ended, undefined, 'it is still open');
    t.deepEqual(ids, expected, 'it misses and repeats nothing');
  }
}

test.serial(
  'PostgreSQL stopped and started again - streams of events stay open, and miss and repeat nothing',
  async (t) => {
    const { shared, service } = t.context;
    const streams = await followAll(t);
    for (let round = 0; round < 2; round += 1) {
      const writing = Promise.all(Array.from({ length: 8 }, () => service.rest.post('/categories', { name: 'Cats' })));
      await shared.postgres.kill();
      await writing;
      t.is((await service.rest.get('/events/stream?after=1')).status, 503, 'a new stream learns that it is away');
      await delay(1_000);
      await shared.postgres.start();
      await allGoOn(t, streams);
    }
  },
);

test.serial(
  'The network of PostgreSQL hangs - streams have their heartbeats, and miss and repeat nothing',
  async (t) => {
    t.timeout(180_000);
    const { network, service } = t.context;
    const streams = await followAll(t);
    const followInSilence = async () => {
      const writing = Promise.all(Array.from({ length: 8 }, () => service.rest.post('/categories', { name: 'Cats' })));
      network.silence();
      for (const { heartbeatsMs } of streams) heartbeatsMs.length = 0;
      const stream = await followRest(t);
      await writing;
      return stream;
    };
    let behind = await followInSilence();
    // A server that must look the key up just then, or follows the events for nobody yet, lets no reader in.
    while (behind.ended === 'HTTP 503') {
      network.restore();
      await allGoOn(t, streams);
      streams.push(await followRest(t));
      behind = await followInSilence();
    }
    streams.push(behind);
    const isAlive = ({ heartbeatsMs, ended }: Stream) => heartbeatsMs.length > 0 || ended !== undefined;
    await until(() => streams.every(isAlive), 'heartbeats');
    network.restore();
    await allGoOn(t, streams);
  },
);
