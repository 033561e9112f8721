/** All attacks. The tests run each of them with callers beside it, who must be served. */
import type { ClientHttp2Stream } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../../src/access/keys/format.ts';
import { type Attack, type AttackContext, forEachConnection } from './attack.ts';
import type { Bounds } from './bounds.ts';
import type { Report } from './experiment.ts';
import { type Fields, FrameSession } from './frames.ts';
import { Http1Connection } from './http1-connection.ts';
import { MIB } from './resources.ts';
import { grpcFrame, grpcHeaders, openSession, openSocket } from './sockets.ts';

/** 99 % of the requests of a caller with a key are served within a second. */
const SERVED: Bounds = { maxShedShare: 0.01, maxP99Ms: 1_000 };
/** The streams of 55 connections: 100 are allowed, one is spare. */
const ALL_SLOTS = { connections: 55, perConnection: 99 };
/** The streams that one address without a key may have open, of each of Envoy's threads and servers. */
const SHARE = 50;
const MAX_WATCHES = 500;
/** The CPU time of a mebibyte that is not read. To parse it takes several times as long. */
const MAX_CPU_US = 3_000;

const LIST_PETS = '/petstore.v1.PetService/ListPets';
const HEALTH = '/grpc.health.v1.Health';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

/** `promise` is the title of its test. */
const attack = (promise: string, of: Omit<Attack, 'promise'>): Attack => ({ promise, ...of });

export const ATTACKS: readonly Attack[] = [
  attack('Memory - unread pages cost Envoy little memory, and it releases all of it', {
    name: 'unread-pages',
    full: { connections: 40, perConnection: 100 },
    short: { connections: 4, perConnection: 100 },
    holdMs: 15_000,
    shortBounds: { maxGrowthBytes: 100 * MIB, mustRecover: true },
    run: (context) => openStreams(context, { requests: [get('/docs/swagger-ui-bundle.js')], ...UNREAD }),
  }),
  attack('Without a key - a reflection stream that is never read does not grow the server', {
    name: 'unread-reflection',
    full: { connections: 1, perConnection: 50 },
    short: { connections: 1, perConnection: 1 },
    holdMs: 60_000,
    bounds: { maxServerGrowthBytes: 100 * MIB },
    run: reflectUnread,
  }),
  attack('Without a key - a GET is answered by its headers, without the end of the request', {
    name: 'bodiless-gets',
    full: { connections: 150, perConnection: 100 },
    short: { connections: 20, perConnection: 100 },
    holdMs: 20_000,
    bounds: SERVED,
    endsBut: 0,
    run: (context) => openStreams(context, { requests: [get('/pets')], againMs: 5_000, givesUp: true }),
  }),
  attack('Without a key - health checks without a message are open for an address’s share only', {
    name: 'silent-checks',
    full: { connections: 180, perConnection: 100 },
    short: { connections: 20, perConnection: 100 },
    holdMs: 20_000,
    bounds: SERVED,
    endsBut: SHARE,
    run: (context) => openStreams(context, { requests: [grpc(`${HEALTH}/Check`)] }),
  }),
  attack('Without a key - a crowd at /healthz takes nothing from callers with a key', {
    name: 'health-crowd',
    full: { connections: 10, perConnection: 100 },
    holdMs: 15_000,
    bounds: SERVED,
    run: (context) => openStreams(context, { requests: [get('/healthz')], endStream: true, againMs: 50 }),
  }),
  // As many connections as the listener accepts, but for the bystanders', with all the streams that each may have.
  attack('Without a key - open requests on all connections take nothing from callers with a key', {
    name: 'all-streams',
    full: { connections: 9_900, perConnection: 100 },
    short: { connections: 100, perConnection: 100 },
    holdMs: 30_000,
    bounds: SERVED,
    run: (context) => openStreams(context, { requests: [get('/pets'), grpc(`${HEALTH}/Check`), grpc(LIST_PETS)] }),
  }),
  attack('With a key - 970 calls without a message leave other accounts their slots', {
    name: 'silent-calls-with-key',
    full: { connections: 10, perConnection: 97 },
    holdMs: 15_000,
    bounds: SERVED,
    hasOwnKey: true,
    run: (context) => openStreams(context, { requests: [grpc(LIST_PETS)], key: 'own' }),
  }),
  attack('Slots - the watches of one address are bounded, and all other callers are served', {
    name: 'watches',
    full: ALL_SLOTS,
    holdMs: 15_000,
    check: ({ outcomes: { total } }) => {
      const held = ALL_SLOTS.connections * ALL_SLOTS.perConnection - total;
      return held > 0 && held <= MAX_WATCHES ? [] : [`${held} were held`];
    },
    run: (context) => openStreams(context, { requests: [grpc(`${HEALTH}/Watch`)], body: grpcFrame(), endStream: true }),
  }),
  attack('Slots - calls without a key are refused by their headers, without a message', {
    name: 'silent-calls',
    full: ALL_SLOTS,
    holdMs: 60_000,
    endsBut: 0,
    run: (context) => openStreams(context, { requests: [grpc(LIST_PETS)] }),
  }),
  attack('Slots - calls with made-up keys are refused by their headers, without a message', {
    name: 'silent-calls-made-up-keys',
    full: ALL_SLOTS,
    holdMs: 60_000,
    endsBut: 0,
    run: (context) => openStreams(context, { requests: [grpc(LIST_PETS)], key: 'made up' }),
  }),
  attack('Bodies - repeated large bodies of an anonymous caller delay no other caller', {
    name: 'heavy-bodies',
    full: { connections: 12, perConnection: 0 },
    holdMs: 15_000,
    check: ({ outcomes, cpuUs }) => [
      ...only(outcomes, '401', '429'),
      ...(cpuUs > MAX_CPU_US * outcomes.total ? [`one cost ${cpuUs / outcomes.total} µs of CPU`] : []),
    ],
    run: (context) =>
      forEachConnection(context.size, async () => {
        void exchangeRepeatedly(context, toRequest('POST', '/pets', JSON_TYPE, MANY_NUMBERS), () => 0);
      }),
  }),
  attack('Bodies - endless bodies are refused by their headers, without waiting for their end', {
    name: 'endless-bodies',
    full: { connections: 1_100, perConnection: 1 },
    short: { connections: 300, perConnection: 1 },
    holdMs: 15_000,
    endsBut: 0,
    check: ({ outcomes }) => only(outcomes, '401', '429'),
    run: sendEndlessBodies,
  }),
  attack('Connections - one without a complete request is closed within seconds', {
    name: 'idle-connections',
    full: { connections: 9_900, perConnection: 1 },
    short: { connections: 300, perConnection: 1 },
    holdMs: 20_000,
    endsBut: 0,
    check: ({ outcomes }) => only(outcomes, 'closed'),
    run: idle,
  }),
  attack('Crowd - a request that is not served is a 503 with Retry-After, and health is right', {
    name: 'crowd',
    full: { connections: 2_000, perConnection: 1 },
    short: { connections: 400, perConnection: 1 },
    holdMs: 20_000,
    bounds: { maxShedShare: 1, isHealthRight: true },
    check: ({ outcomes }) => [
      ...only(outcomes, '200', '503'),
      ...((outcomes.counts[200] ?? 0) > 100 ? [] : ['hardly anybody was served']),
    ],
    run: comeInCrowds,
  }),
  // The last one: Envoy's allocator keeps the memory for later.
  attack('Memory - a flood of unread refusals takes no more than its bound, and all are served after it', {
    name: 'unread-refusals',
    full: { connections: 2_000, perConnection: 100 },
    short: { connections: 200, perConnection: 100 },
    holdMs: 15_000,
    // While it lasts, Envoy closes connections that send requests, whoever's they are.
    bounds: { maxShedShare: 1, mayClose: true },
    run: (context) => openStreams(context, { requests: [get('/pets')], ...UNREAD }),
  }),
];

/** The requests that ended otherwise. */
function only({ counts }: Report['outcomes'], ...expected: readonly string[]): string[] {
  const others = Object.entries(counts).filter(([outcome]) => !expected.includes(outcome));
  return others.map(([outcome, times]) => `${times} ended with ${outcome}`);
}

function get(path: string): Fields {
  return { ':method': 'GET', ':scheme': 'http', ':path': path, ':authority': 'petstore' };
}

function grpc(path: string): Fields {
  return { ...get(path), ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };
}

interface Opening {
  readonly requests: readonly Fields[];
  readonly body?: Uint8Array;
  /** Whether the requests are complete. */
  readonly endStream?: boolean;
  /** The window of each stream. */
  readonly window?: number;
  /** Whether nothing is sent before all connections are open: an overload manager would notice a gradual load. */
  readonly atOnce?: boolean;
  /** After this time streams that have ended are opened again. */
  readonly againMs?: number;
  /** Whether those that have not ended are given up by then. */
  readonly givesUp?: boolean;
  readonly key?: 'own' | 'made up';
}

const UNREAD = { endStream: true, window: 0, atOnce: true } as const;

async function openStreams({ target, size, tally, signal, key }: AttackContext, opening: Opening): Promise<void> {
  const { requests, body, endStream = false, window, atOnce = false, againMs, givesUp = false, key: whose } = opening;
  const own = () => (whose === undefined ? {} : { authorization: `Bearer ${whose === 'own' ? key : generateKey()}` });
  const sessions: FrameSession[] = [];
  const sendOn = (session: FrameSession) => {
    if (givesUp) session.resetAll();
    for (let i = session.openStreams; i < Math.min(size.perConnection, session.maxStreams); i += 1) {
      const end = tally.start();
      const { ended } = session.request({ ...requests[i % requests.length], ...own() }, { endStream, body });
      void ended.then((outcome) => signal.aborted || end(outcome));
    }
  };
  await forEachConnection(size, async (index) => {
    const session = await FrameSession.open(target, index, window);
    if (session === undefined) return tally.add('refused connection', 0);
    // Envoy knows a key after its first request on each of its threads.
    if (whose === 'own') await session.request({ ...get('/pets'), ...own() }, { endStream: true }).ended;
    if (!atOnce) sendOn(session);
    sessions.push(session);
    const timer = againMs === undefined ? undefined : setInterval(() => sendOn(session), againMs);
    signal.addEventListener('abort', () => {
      clearInterval(timer);
      session.destroy();
    });
  });
  if (atOnce) sessions.forEach(sendOn);
}

/** Streams that repeat a small request, whose answer has several kilobytes, as fast as the other side takes it. */
async function reflectUnread({ target, size, signal }: AttackContext): Promise<void> {
  const request = grpcFrame(Buffer.concat([Buffer.of(0x22, 22), Buffer.from('petstore.v1.PetService')]));
  const repeated = Buffer.concat(Array<Buffer>(100).fill(request));
  const repeat = (stream: ClientHttp2Stream): void => {
    if (stream.writable) stream.write(repeated, () => repeat(stream));
  };
  await forEachConnection(size, async (index) => {
    const session = await openSession(target, index, { initialWindowSize: 0 });
    signal.addEventListener('abort', () => session.destroy());
    for (let count = 0; count < size.perConnection; count += 1) {
      repeat(session.request(grpcHeaders(REFLECTION), { endStream: false }).on('error', () => undefined));
    }
  });
}

const JSON_TYPE = 'Content-Type: application/json\r\n';
/** It is expensive to parse. */
const MANY_NUMBERS = `[${'1,'.repeat(2 ** 19)}1]`;

function toRequest(method: string, path: string, lines: string, body?: string): Buffer {
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: petstore\r\n${lines}${length}\r\n${body ?? ''}`);
}

/** Sends a request again and again. `pauseMs` says after which time, by the headers of the response. */
async function exchangeRepeatedly(
  { target, tally, signal }: AttackContext,
  request: Buffer,
  pauseMs: (headers: Headers) => number,
): Promise<void> {
  const connection = new Http1Connection(target);
  signal.addEventListener('abort', () => connection.close());
  while (!signal.aborted) {
    const end = tally.start();
    const answer = await connection.exchange(request, { giveUpMs: 30_000 });
    if (signal.aborted) return;
    const isHard = typeof answer !== 'string' && answer.status === 503 && !answer.headers.has('retry-after');
    end(typeof answer === 'string' ? answer : `${answer.status}${isHard ? ' without Retry-After' : ''}`);
    const waitMs = typeof answer === 'string' ? 1_000 : pauseMs(answer.headers);
    if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Callers with a key, each with one request at a time, and after a 503 none before Retry-After. */
async function comeInCrowds(context: AttackContext): Promise<void> {
  const perAddress = 50;
  const request = toRequest('GET', '/pets', `Authorization: Bearer ${context.key}\r\n`);
  const come = async (index: number) => {
    const target = { ...context.target, from: [`127.0.1.${1 + Math.floor(index / perAddress)}`] as const };
    void exchangeRepeatedly({ ...context, target }, request, (headers) => 1_000 * Number(headers.get('retry-after')));
    await delay(1); // callers arrive over time
  };
  await forEachConnection(context.size, come, 4);
}

/** Of a body of 1 MiB 60 kB come, and then a byte a second. Half of them have a key that needs a look-up. */
async function sendEndlessBodies({ target, size, tally, signal }: AttackContext): Promise<void> {
  const toChunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  await forEachConnection(size, async (index) => {
    const isChunked = index % 2 === 1;
    const part = (text: string) => (isChunked ? toChunk(text) : text);
    const key = index % 4 < 2 ? `Authorization: Bearer ${generateKey()}\r\n` : '';
    const length = isChunked ? 'Transfer-Encoding: chunked\r\n' : `Content-Length: ${2 ** 20}\r\n`;
    const socket = openSocket(target, index);
    const end = tally.start();
    const dripping = setInterval(() => socket.write(part(' ')), 1_000);
    signal.addEventListener('abort', () => socket.destroy());
    socket.once('data', (answer: Buffer) => end(answer.toString('latin1').split(' ', 2)[1] ?? 'nonsense'));
    socket.once('close', () => {
      clearInterval(dripping);
      if (!signal.aborted) end('closed');
    });
    socket.write(toRequest('POST', '/pets', JSON_TYPE + key + length));
    socket.write(part(MANY_NUMBERS.slice(0, 60_000)));
    await delay(1);
  });
}

/** Connections that send nothing; some half a request, or the greeting of HTTP/2 alone. */
async function idle({ target, size, tally, signal }: AttackContext): Promise<void> {
  const greeting = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0'; // RFC 9113, section 3.4
  await forEachConnection(size, async (index) => {
    const socket = openSocket(target, index).resume(); // without it the end is not noticed
    const end = tally.start();
    signal.addEventListener('abort', () => socket.destroy());
    socket.on('close', () => signal.aborted || end('closed'));
    await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', resolve));
    if (index % 10 === 0) socket.write('GET /pets HTTP/1.1\r\nHost: ');
    if (index % 10 === 1) socket.write(greeting, 'latin1');
  });
}
