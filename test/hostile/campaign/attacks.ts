/**
 * All attacks: what one host can do to the public port, at any size. The tests run each of them with callers beside it,
 * who must be served.
 */
import type { ClientHttp2Session, OutgoingHttpHeaders } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { END_STREAM, frame, headersFrame, PLAIN, PREFACE } from '../../support/calls/frames.ts';
import { http1Connection } from '../../support/calls/http1-connection.ts';
import {
  exchange,
  grpcFrame,
  grpcHeaders,
  openSession,
  openSocket,
  type Sending,
  type Target,
} from '../../support/calls/http2.ts';
import type { Bounds, Report } from './experiment.ts';

const MIB = 2 ** 20;

interface Size {
  readonly connections: number;
  readonly perConnection: number;
}

export interface Attack {
  /** The title of its test: what it must not do. It is the attack's name, too. */
  readonly promise: string;
  /** The size at which it first did harm. */
  readonly full: Size;
  /** Small enough for every run of the tests. By default it is the full one. */
  readonly short?: Size;
  /** How long it is held at full size after it has begun. */
  readonly holdMs: number;
  /** All of its requests end but these. It ends then, too. */
  readonly endsBut?: number;
  /** The bounds that differ from the usual ones, and those of the small size alone. */
  readonly bounds?: Bounds;
  readonly shortBounds?: Bounds;
  readonly check?: (report: Report) => readonly string[];
  /** Resolves when everything has been sent, or as much as the service accepts. The attack then goes on without end. */
  run(context: AttackContext): Promise<void>;
}

export interface AttackContext {
  readonly target: Target;
  readonly size: Size;
  readonly key: string;
  /** Counts a request that has ended: its status, or `closed`. */
  readonly count: (outcome: string) => void;
}

export type Outcomes = Readonly<Record<string, number>>;

export function total(outcomes: Outcomes): number {
  return Object.values(outcomes).reduce((sum, count) => sum + count, 0);
}

/** 99 % of the requests of a caller with a key are served within a second. */
const SERVED: Bounds = { maxShedShare: 0.01, maxP99Ms: 1_000 };
/** The health checks that one address may have open, of each of Envoy's threads and servers. */
const SHARE = 50;
/** The CPU time of a mebibyte that is not read. To parse it takes several times as long. */
const MAX_CPU_US = 3_000;
const FOREVER_MS = 3_600_000;

const HEALTH = '/grpc.health.v1.Health';

const attack = (promise: string, of: Omit<Attack, 'promise'>): Attack => ({ promise, ...of });

export const ATTACKS: readonly Attack[] = [
  attack('Memory - unread pages cost Envoy little memory, and it releases all of it', {
    full: { connections: 40, perConnection: 100 },
    short: { connections: 4, perConnection: 100 },
    holdMs: 15_000,
    shortBounds: { maxGrowthBytes: 100 * MIB, mustRecover: true },
    run: (context) => getUnread(context, '/docs/swagger-ui-bundle.js'),
  }),
  attack('Slots - the watches and checks of one address are bounded, and all other callers are served', {
    full: { connections: 180, perConnection: 100 },
    short: { connections: 55, perConnection: 100 },
    holdMs: 20_000,
    bounds: SERVED,
    endsBut: 2 * SHARE,
    check: ({ unended }) => (unended > 0 ? [] : ['none was held']),
    run: (context) =>
      openStreams(context, [
        [grpcHeaders(`${HEALTH}/Watch`), { body: grpcFrame() }],
        [grpcHeaders(`${HEALTH}/Check`), { isEnded: false }],
        [{ ':path': '/healthz' }, {}],
      ]),
  }),
  attack('Streams - that are opened and reset at once delay no other caller', {
    full: { connections: 6, perConnection: 500 },
    short: { connections: 6, perConnection: 60 },
    holdMs: 15_000,
    bounds: { ...SERVED, maxTimes: 2.5 },
    check: ({ outcomes }) => only(outcomes, 'closed'),
    run: (context) => forEachConnection(context.size, async (index) => sendAtOnce(context, index, true)),
  }),
  attack('Streams - as many as a connection may have, on a new one again and again, delay no other caller', {
    full: { connections: 6, perConnection: 100 },
    holdMs: 15_000,
    bounds: { ...SERVED, maxTimes: 2.5 },
    run: (context) => forEachConnection(context.size, async (index) => sendAtOnce(context, index, false)),
  }),
  attack('Bodies - repeated large bodies of an anonymous caller delay no other caller', {
    full: { connections: 12, perConnection: 0 },
    holdMs: 15_000,
    check: ({ outcomes, cpuUs }) => [
      ...only(outcomes, '401', '429'),
      ...(cpuUs > MAX_CPU_US * total(outcomes) ? [`one cost ${cpuUs / total(outcomes)} µs of CPU`] : []),
    ],
    run: sendHeavyBodies,
  }),
  attack('Connections - one without a complete request is closed within seconds', {
    full: { connections: 4_400, perConnection: 1 },
    short: { connections: 300, perConnection: 1 },
    holdMs: 20_000,
    endsBut: 0,
    check: ({ outcomes }) => only(outcomes, 'closed'),
    run: idle,
  }),
  attack('Crowd - a request that is not served is a 503 with Retry-After, and health is right', {
    full: { connections: 2_000, perConnection: 1 },
    short: { connections: 400, perConnection: 1 },
    holdMs: 20_000,
    bounds: { maxShedShare: 1, isHealthRight: true },
    check: ({ outcomes }) => [
      ...only(outcomes, '200', '503'),
      ...((outcomes[200] ?? 0) > 100 ? [] : ['hardly anybody was served']),
    ],
    run: comeInCrowds,
  }),
  attack('Memory - a flood of unread refusals takes no more than its bound, and all are served after it', {
    full: { connections: 400, perConnection: 100 },
    short: { connections: 200, perConnection: 100 },
    holdMs: 15_000,
    // While it lasts, Envoy closes connections that send requests, whoever's they are.
    bounds: { maxShedShare: 1, mayClose: true },
    run: (context) => getUnread(context, '/pets'),
  }),
];

function only(outcomes: Outcomes, ...expected: readonly string[]): string[] {
  const others = Object.entries(outcomes).filter(([outcome]) => !expected.includes(outcome));
  return others.map(([outcome, times]) => `${times} ended with ${outcome}`);
}

async function forEachConnection({ connections }: Size, begin: (index: number) => Promise<void>, atATime = 100) {
  let next = 0;
  const worker = async () => {
    while (next < connections) await begin(next++);
  };
  await Promise.all(Array.from({ length: atATime }, worker));
}

/** Keeps so many streams open on each connection, with the requests in turn. */
async function openStreams(
  { target, size, count }: AttackContext,
  requests: readonly (readonly [OutgoingHttpHeaders, Sending])[],
): Promise<void> {
  await forEachConnection(size, async (index) => {
    const session = await openSession(target, index).catch(() => undefined);
    for (let i = 0; i < size.perConnection; i += 1) {
      const [headers, sending] = requests[i % requests.length] ?? [];
      if (session === undefined || headers === undefined) count('refused connection');
      else {
        const ended = exchange(session, headers, { ...sending, giveUpMs: FOREVER_MS });
        void ended.then(({ status, outcome }) => count(String(status ?? outcome)));
      }
    }
  });
}

/**
 * Complete requests on streams with a window of 0. Nothing is sent before all connections are open: an overload manager
 * would notice a gradual load.
 */
async function getUnread({ target, size, count }: AttackContext, path: string): Promise<void> {
  const sessions: ClientHttp2Session[] = [];
  await forEachConnection(size, async (index) => {
    const session = await openSession(target, index, { initialWindowSize: 0 }).catch(() => undefined);
    if (session === undefined) return count('refused connection');
    sessions.push(session);
  });
  for (const session of sessions) {
    for (let i = 0; i < size.perConnection && !session.destroyed; i += 1) {
      session.request({ ':path': path }).on('error', () => undefined);
    }
  }
}

/** Requests, each perhaps with its reset behind it, in one write; again on a new connection. */
function sendAtOnce(context: AttackContext, index: number, isReset: boolean): void {
  const { target, size, count } = context;
  const headers = { ':method': 'GET', ':path': '/pets', ...PLAIN };
  const streams = Array.from({ length: size.perConnection }, (_, stream) => 2 * stream + 1);
  const all = streams.map((id) =>
    Buffer.concat([headersFrame(id, headers, END_STREAM), ...(isReset ? [frame('reset', id, 0, CANCEL)] : [])]),
  );
  const socket = openSocket(target, index).resume();
  let wasLeft = false;
  const end = () => {
    wasLeft = true;
    socket.destroy();
  };
  socket.once('close', () => {
    count(wasLeft ? 'left open' : 'closed');
    sendAtOnce(context, index, isReset);
  });
  socket.write(Buffer.concat([PREFACE, ...all]), () => setTimeout(end, isReset ? RESET_MS : 100));
}

/** By then Envoy has closed a connection that resets its requests at once. */
const RESET_MS = 5_000;
const CANCEL = Buffer.of(0, 0, 0, 8);

const JSON_TYPE = 'Content-Type: application/json\r\n';
const MANY_NUMBERS = `[${'1,'.repeat(2 ** 19)}1]`;

function toRequest(method: string, path: string, lines: string, body?: string): Buffer {
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: petstore\r\n${lines}${length}\r\n${body ?? ''}`);
}

/** Sends a request again and again, after a 503 only when Retry-After says so. */
async function exchangeRepeatedly({ target, count }: AttackContext, request: Buffer): Promise<void> {
  const connection = http1Connection(target);
  for (;;) {
    const answer = await connection.exchange(request, { giveUpMs: 30_000 });
    const [status, retryAfter] =
      typeof answer === 'string' ? [answer, '1'] : [answer.status, answer.headers.get('retry-after')];
    count(status === 503 && retryAfter === null ? '503 without Retry-After' : `${status}`);
    const mayBeSoon = status === 401 || status === 429;
    await delay(mayBeSoon ? 0 : 1_000 * Number(retryAfter));
  }
}

/** Callers with a key, each with one request at a time. */
async function comeInCrowds(context: AttackContext): Promise<void> {
  const perAddress = 50;
  const request = toRequest('GET', '/pets', `Authorization: Bearer ${context.key}\r\n`);
  const come = async (index: number) => {
    const target = { ...context.target, from: [`127.0.1.${1 + Math.floor(index / perAddress)}`] as const };
    void exchangeRepeatedly({ ...context, target }, request);
    await delay(1); // callers arrive over time
  };
  await forEachConnection(context.size, come, 4);
}

async function sendHeavyBodies(context: AttackContext): Promise<void> {
  const request = toRequest('POST', '/pets', JSON_TYPE, MANY_NUMBERS);
  await forEachConnection(context.size, async () => void exchangeRepeatedly(context, request));
}

/** Connections that send nothing; some half a request, or the greeting of HTTP/2 alone. */
async function idle({ target, size, count }: AttackContext): Promise<void> {
  const greeting = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0'; // RFC 9113, section 3.4
  await forEachConnection(size, async (index) => {
    const socket = openSocket(target, index).resume(); // without it the end is not noticed
    socket.on('close', () => count('closed'));
    await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', resolve));
    if (index % 10 === 0) socket.write('GET /pets HTTP/1.1\r\nHost: ');
    if (index % 10 === 1) socket.write(greeting, 'latin1');
  });
}

type Job = Omit<AttackContext, 'count'> & Pick<Attack, 'promise'>;

/**
 * Attacks in a thread of its own, which runs this file: it does not disturb the timing of the measurement. It tells the
 * outcomes of its requests again and again, and whether all have been sent.
 */
export function startAttacker(job: Job) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { job }, execArgv: [] });
  const attacker = { told: { outcomes: {} as Outcomes, hasBegun: false }, end: () => worker.terminate() };
  worker.on('message', (told) => (attacker.told = told));
  return attacker;
}

async function carryOut({ promise, ...job }: Job): Promise<void> {
  const outcomes: Record<string, number> = {};
  let hasBegun = false;
  const tell = () => parentPort?.postMessage({ outcomes, hasBegun });
  setInterval(tell, 100);
  const count = (outcome: string) => {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  await ATTACKS.find((one) => one.promise === promise)?.run({ ...job, count });
  hasBegun = true;
  tell();
}

if (workerData?.job !== undefined) void carryOut(workerData.job);
