/** Streams of events by the hundred that nobody reads hold little. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { openEvents } from '../support/calls/event-source.ts';
import { grpcFrame, grpcHeaders, openSession, openSocket, type Target, targetOf } from '../support/calls/http2.ts';
import { statistic } from '../support/service/exposition.ts';
import type { TestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';
import { served, startBystanders } from './campaign/bystanders.ts';
import { hostileTest, leftOpen, MIB, openStreams, PROBED, pidsOf, rssBytes, usedBytes } from './campaign/service.ts';

const test = hostileTest({ ...PROBED, LOG_LEVEL: 'info' });

const MAX_STREAMS = 10;
/** The streams that Envoy lets a connection have. */
const PER_CONNECTION = 100;
const KIB = 1_024;
/** What a reader who does not read may hold on the server and in Envoy together. */
const MAX_HELD = 256 * KIB;
const FREELY = { perMinute: 100_000, perDay: 100_000 };

/**
 * A key of each of so many new accounts, as often as one may have streams. The service has seen them: an address may
 * have few look-ups at a time.
 */
async function keysOf(stack: TestStack, accounts: number): Promise<string[]> {
  const keys = [];
  for (let count = 0; count < accounts; count += 1) {
    const key = await stack.operator.keyOf(FREELY);
    await stack.rest.withKey(key).get('/events?limit=1');
    keys.push(...Array<string>(MAX_STREAMS).fill(key));
  }
  return keys;
}

/**
 * Opens a stream of events for each key, of which nobody reads anything: from the first event on over gRPC, with a
 * window of 0; or over REST from now on, with everything let through to the caller's host. The returned function closes
 * them.
 */
async function openReaders({ publicAddress }: TestStack, keys: readonly string[], isOpen: boolean) {
  const target = targetOf(publicAddress, '127.0.0.9');
  const body = grpcFrame(Events.watchEvents.requestSerialize({ types: [], after: 0n }));
  const sessions: ClientHttp2Session[] = [];
  for (const [index, key] of keys.entries()) {
    if (index % PER_CONNECTION === 0) {
      sessions.push(isOpen ? await openUnread(target) : await openSession(target, 0, { initialWindowSize: 0 }));
    }
    const get = { ':path': '/events/stream', authorization: `Bearer ${key}` };
    const stream = sessions
      .at(-1)
      ?.request(isOpen ? get : grpcHeaders(Events.watchEvents.path, key), { endStream: isOpen })
      .resume()
      .on('error', () => undefined);
    if (!isOpen) stream?.end(body);
  }
  return () => void sessions.map((session) => session.destroy());
}

const EVERYTHING = 2 ** 31 - 1;

/**
 * A connection that lets everything through, and of which not a byte is read: the kernel keeps what it can, and then
 * Envoy what it has sent.
 */
async function openUnread(target: Target): Promise<ClientHttp2Session> {
  const socket = openSocket(target).pause();
  const write = (chunk: Buffer, _: string, done: () => void) => void socket.write(chunk, done);
  const session = connect('http://petstore', {
    createConnection: () => new Duplex({ read: () => undefined, write }),
    settings: { initialWindowSize: EVERYTHING },
  });
  session.on('error', () => undefined).on('close', () => socket.destroy());
  await once(session, 'connect');
  session.setLocalWindowSize(EVERYTHING);
  return session;
}

/** Writes as many events, nearly as large as they can be. */
async function writeEvents({ rest }: TestStack, count: number): Promise<void> {
  const writers = 10;
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const id = await rest.category(`${writer}`);
      const description = '🐈'.repeat(1_990);
      for (let i = 1; i < count / writers; i += 1) await rest.put(`/categories/${id}`, { name: `${i}`, description });
    }),
  );
}

/** What Envoy has allocated. It tells every 5 s. */
const allocatedBytes = ({ config }: TestStack) => statistic(config.envoyAdminPort, 'server.memory_allocated');

/** The bystanders write a few small events, which others read. */
const STILL_BYTES = 50 * KIB;

/** Resolves when the server sends nothing more to streams that nobody reads. */
async function isStill({ config }: TestStack): Promise<void> {
  let sent = 0;
  const hasStopped = async () => {
    const before = sent;
    sent = await statistic(config.envoyAdminPort, 'cluster.petstore_feeds.upstream_cx_rx_bytes_total');
    await delay(500);
    return sent - before < STILL_BYTES;
  };
  await until(hasStopped, 'the end of what the server sends', 60_000);
}

test('Unread - 200 streams hold at most 256 KiB each, whatever their windows, and delay nobody', async (t) => {
  t.timeout(120_000);
  const stack = t.context;
  const { envoy } = pidsOf(stack);
  const keys = await keysOf(stack, 20);
  const bystanders = startBystanders(stack);
  t.teardown(() => bystanders.stop());
  await writeEvents(stack, 1_000);
  const follower = await openEvents(`${stack.rest.url}/events/stream`, stack.key);
  await follower.next();
  await writeEvents(stack, 100);
  await follower.take(100);
  const rest = { rss: rssBytes(envoy), allocated: await allocatedBytes(stack), used: await usedBytes(stack) };
  const before = await openStreams(stack);
  // Those that begin with an old event read pages of their own: the server holds most for them. Of those that are open
  // the kernel keeps megabytes of each connection.
  const closing = [await openReaders(stack, keys.slice(80), false), await openReaders(stack, keys.slice(0, 80), true)];
  const close = () => closing.forEach((closeOne) => void closeOne());
  t.teardown(close);
  // The bystanders have calls of their own.
  await until(async () => (await openStreams(stack)) >= before + 195, 'all streams');
  await writeEvents(stack, 800);
  await follower.take(800);
  await isStill(stack);
  await delay(6_000); // so that no events are kept for all streams any more
  const held = (rssBytes(envoy) - rest.rss + (await usedBytes(stack)) - rest.used) / 200;
  t.log(`${Math.round(held / KIB)} KiB each`);
  t.true(held <= MAX_HELD);
  follower.close();
  close();
  await until(async () => (await usedBytes(stack)) < rest.used + 5 * MIB, "the server's memory");
  await until(async () => (await allocatedBytes(stack)) < rest.allocated + 5 * MIB, "Envoy's memory");
  await bystanders.stop();
  const { visits } = bystanders;
  const failures = { ...served(visits, 'caller').failures, ...served(visits, 'anonymous').failures };
  // A busy machine may shed a call.
  for (const failure of Object.keys(failures)) t.regex(failure, / 50[34]$|grpc-status 14$/);
  t.is(await leftOpen(stack), undefined);
});
