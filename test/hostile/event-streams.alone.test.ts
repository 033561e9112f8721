/** Streams of events by the hundred: unread ones hold little, and a thousand cost the database no more than one. */
import { setTimeout as delay } from 'node:timers/promises';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { openEvents } from '../support/event-source.ts';
import { get, grpc } from '../support/hostile/attack-runs.ts';
import { Bystanders, served } from '../support/hostile/bystanders.ts';
import { FrameSession } from '../support/hostile/frames.ts';
import { leftOpen, PROBED, usedBytes } from '../support/hostile/probe.ts';
import { hostileMissing, MIB, pidsOf, rssBytes } from '../support/hostile/resources.ts';
import { grpcFrame, openSocket, targetOf } from '../support/hostile/sockets.ts';
import { connectOperator } from '../support/operator.ts';
import { type OwnPostgres, ownPostgresMissing, query, startPostgres } from '../support/postgres.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

interface Context extends TestStack {
  readonly postgres: OwnPostgres;
  readonly databaseUrl: string;
}
const { serial: test, before, after } = testUnless<Context>(hostileMissing ?? ownPostgresMissing);

before(async (t) => {
  const postgres = await startPostgres();
  const databaseUrl = await postgres.createDatabase();
  const stack = await startTestStack({ ...PROBED, LOG_LEVEL: 'info', DATABASE_URL: databaseUrl, DEMO_ACCOUNT: 'yes' });
  t.context = { ...stack, postgres, databaseUrl };
});
after.always(async ({ context: { close, postgres } }) => {
  await close?.();
  await postgres?.stop();
});

const MAX_STREAMS = 10;
/** The streams that Envoy lets a connection have. */
const PER_CONNECTION = 100;
const KIB = 1_024;
/** What a reader who does not read may hold on the server and in Envoy together. */
const MAX_HELD = 256 * KIB;
const FREELY = { perMinute: 100_000, perDay: 100_000 };

/** A key of each of so many new accounts, which the service has seen: an address may have few look-ups at a time. */
async function keysOf(stack: TestStack, accounts: number): Promise<string[]> {
  const operator = await connectOperator(stack);
  const keys = [];
  for (let count = 0; count < accounts; count += 1) {
    const key = await operator.keyOf(FREELY);
    await stack.rest.withKey(key).get('/events?limit=1');
    keys.push(key);
  }
  operator.close();
  return keys;
}

/** Each key as often as an account may have streams. */
const often = (keys: readonly string[]) => keys.flatMap((key) => Array<string>(MAX_STREAMS).fill(key));

interface Readers {
  readonly protocol: 'HTTP/1.1' | 'HTTP/2' | 'gRPC';
  /** One key for each stream. */
  readonly keys: readonly string[];
  /** Whether they begin with the first event. By default they begin now. */
  readonly fromFirst?: boolean;
  /** The window that the callers choose for their streams, in bytes. */
  readonly window?: number;
  /** Whether they stop to read their connections when their streams have begun. */
  readonly stopsReading?: boolean;
}

interface OpenReaders {
  /** The statuses of those that have ended. */
  readonly ended: readonly string[];
  close(): void;
}

const BEGIN_MS = 500;

/** Opens streams of events that nobody reads. */
async function openReaders({ publicAddress }: TestStack, readers: Readers): Promise<OpenReaders> {
  const { protocol, keys, fromFirst = false, window, stopsReading = false } = readers;
  const target = targetOf(publicAddress, '127.0.0.9');
  const path = `/events/stream${fromFirst ? '?after=0' : ''}`;
  if (protocol === 'HTTP/1.1') {
    const sockets = keys.map((key) => {
      const socket = openSocket(target).pause();
      socket.write(`GET ${path} HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      return socket;
    });
    return { ended: [], close: () => void sockets.map((socket) => socket.destroy()) };
  }
  const body = grpcFrame(Events.watchEvents.requestSerialize({ types: [], ...(fromFirst ? { after: 0n } : {}) }));
  const ended: string[] = [];
  const sessions: FrameSession[] = [];
  for (let from = 0; from < keys.length; from += PER_CONNECTION) {
    const session = await FrameSession.open(target, 0, window);
    if (session === undefined) throw new Error('the connection was refused');
    sessions.push(session);
    for (const key of keys.slice(from, from + PER_CONNECTION)) {
      const sent =
        protocol === 'gRPC' ? { fields: grpc(Events.watchEvents.path, key), body } : { fields: get(path, key) };
      void session.request({ ...sent, isWhole: true }).then((outcome) => ended.push(outcome));
    }
    if (!stopsReading) continue;
    await delay(BEGIN_MS);
    session.stopReading();
  }
  return { ended, close: () => void sessions.map((session) => session.destroy()) };
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

/** A number of Envoy's statistics. */
async function statistic({ config }: TestStack, name: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${config.envoyAdminPort}/stats?filter=^${name}$`);
  return Number((await response.text()).split(': ')[1]);
}

/** What Envoy has allocated. It tells every 5 s. */
const allocatedBytes = (stack: TestStack) => statistic(stack, 'server.memory_allocated');

/** The bystanders write a few small events, which others read. */
const STILL_BYTES = 50 * KIB;

/** Resolves when the server sends nothing more to streams that nobody reads. */
async function isStill(stack: TestStack): Promise<void> {
  let sent = 0;
  await until(
    async () => {
      const before = sent;
      sent = await statistic(stack, 'cluster.petstore_feeds.upstream_cx_rx_bytes_total');
      await delay(500);
      return sent - before < STILL_BYTES;
    },
    'the end of what the server sends',
    60_000,
  );
}

const ALL_WINDOWS = 2 ** 31 - 1;

test('Unread - 200 streams hold at most 256 KiB each, whatever their windows, and delay nobody', async (t) => {
  t.timeout(120_000);
  const stack = t.context;
  const { envoy } = pidsOf(stack);
  const keys = often(await keysOf(stack, 20));
  const take = (count: number) => keys.splice(0, count);
  const bystanders = new Bystanders(stack);
  t.teardown(() => bystanders.stop());
  await writeEvents(stack, 1_000);
  const follower = await openEvents(`${stack.rest.url}/events/stream`, stack.key);
  await follower.next();
  await writeEvents(stack, 100);
  await follower.take(100);
  const rest = { rss: rssBytes(envoy), allocated: await allocatedBytes(stack), used: await usedBytes(stack) };
  const open: OpenReaders[] = [];
  const all: Readers[] = [
    // Those that begin with an old event read pages of their own: the server holds most for them.
    { protocol: 'gRPC', keys: take(100), fromFirst: true, window: 0 },
    { protocol: 'HTTP/2', keys: take(20), fromFirst: true, window: 0 },
    // These begin now: the kernel keeps megabytes of each connection.
    { protocol: 'HTTP/2', keys: take(20), window: ALL_WINDOWS, stopsReading: true },
    { protocol: 'gRPC', keys: take(20), window: ALL_WINDOWS, stopsReading: true },
    { protocol: 'HTTP/1.1', keys: take(40) },
  ];
  for (const readers of all) {
    const streams = await openReaders(stack, readers);
    t.teardown(streams.close);
    open.push(streams);
  }
  t.deepEqual(
    open.flatMap(({ ended }) => ended),
    [],
    'all are open',
  );
  await writeEvents(stack, 800);
  await follower.take(800);
  await isStill(stack);
  const held = (rssBytes(envoy) - rest.rss + (await usedBytes(stack)) - rest.used) / 200;
  t.log(`${Math.round(held / KIB)} KiB each`);
  t.true(held <= MAX_HELD);
  follower.close();
  for (const { close } of open) close();
  await until(async () => (await usedBytes(stack)) < rest.used + 5 * MIB, "the server's memory");
  await until(async () => (await allocatedBytes(stack)) < rest.allocated + 5 * MIB, "Envoy's memory");
  await bystanders.stop();
  const { visits } = bystanders;
  const failures = { ...served(visits, 'caller').failures, ...served(visits, 'anonymous').failures };
  // A busy machine may shed a call.
  t.deepEqual(
    Object.keys(failures).filter((failure) => !/ 50[34]$|grpc-status 14$/.test(failure)),
    [],
  );
  t.is(await leftOpen(stack), undefined);
});

const COUNT_MS = 4_000;
/** PostgreSQL adds up what its sessions did every second. */
const ADD_UP_MS = 2_500;

test('Many accounts - 1,000 streams of 100 accounts read the database no more often than one', async (t) => {
  const stack = t.context;
  const scans = async () => {
    const sql = "SELECT seq_scan + coalesce(idx_scan, 0) AS scans FROM pg_stat_user_tables WHERE relname = 'events'";
    const [row] = await query(stack.databaseUrl, sql);
    return Number(row?.scans);
  };
  const scansWhile = async (): Promise<number> => {
    await delay(ADD_UP_MS);
    const beganWith = await scans();
    await delay(COUNT_MS);
    return (await scans()) - beganWith;
  };
  const one = await openEvents(`${stack.rest.url}/events/stream`, stack.key);
  await one.next();
  const keys = often(await keysOf(stack, 100));
  const ofOne = await scansWhile();
  const streams = await openReaders(stack, { protocol: 'HTTP/2', keys, window: ALL_WINDOWS });
  t.teardown(streams.close);
  const ofMany = await scansWhile();
  t.deepEqual(streams.ended, []);
  t.true(ofOne > 0 && ofMany < 1.5 * ofOne + 10, `${ofOne} reads for one stream, ${ofMany} for all`);
  const id = await stack.rest.category('for all');
  for (;;) {
    const [event] = await one.take(1);
    if (event?.data.category?.id === id) break;
  }
  streams.close();
  one.close();
  t.is(await leftOpen(stack), undefined);
});
