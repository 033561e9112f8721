/** Connections of a caller, from addresses of its own; and requests on them, with any headers, bytes and reader. */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  type OutgoingHttpHeaders,
  type Settings,
} from 'node:http2';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scope } from '../scope.ts';
import { readDetails } from './grpc.ts';

/** The public port, and the addresses that connect to it. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** The attacker's addresses in 127.0.0.0/8, which connections take in turn. */
  readonly from: readonly [string, ...string[]];
}

export function targetOf(publicAddress: string, ...from: Target['from']): Target {
  const { hostname, port } = new URL(`http://${publicAddress}`);
  return { host: hostname, port: Number(port), from };
}

/** Where to connect; of an address alone from 127.0.0.1. */
export type To = Target | string;

const targetAt = (to: To) => (typeof to === 'string' ? targetOf(to, '127.0.0.1') : to);

/** With less, Node drops responses to large requests that are not sent completely. */
const SESSION_MB = 1_000;

/** Opens a TCP connection from the address with this index. Errors only close it. */
export function openSocket(to: To, index = 0): Socket {
  const { host, port, from } = targetAt(to);
  const localAddress = from[index % from.length] ?? from[0];
  const socket = connect({ host, port, localAddress });
  socket.on('error', () => undefined); // "close" follows
  return socket;
}

/** Opens an HTTP/2 connection on this stream. Resolves after the service's SETTINGS; rejects when it is refused. */
export async function openSession(
  to: To,
  index = 0,
  settings: Settings = {},
  bytes: Duplex = openSocket(to, index),
): Promise<ClientHttp2Session> {
  const { host, port } = targetAt(to);
  const session = connectHttp2(`http://${host}:${port}`, {
    createConnection: () => bytes,
    settings,
    maxSessionMemory: SESSION_MB,
  });
  session.on('error', () => undefined); // its streams report it
  const closed = once(session, 'close').then(() => {
    throw new Error('the connection was refused');
  });
  await Promise.race([once(session, 'remoteSettings'), closed]);
  closed.catch(() => undefined);
  return session;
}

/** The same, until the end of the test. */
export async function sessionOf(t: Scope, to: To, index?: number, settings?: Settings): Promise<ClientHttp2Session> {
  const session = await openSession(to, index, settings);
  t.teardown(() => session.destroy());
  return session;
}

/** The headers of a gRPC call of a method such as `/petstore.v1.PetService/ListPets`. */
export function grpcHeaders(path: string, key?: string): OutgoingHttpHeaders {
  return {
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
}

export function grpcFrame(message: Uint8Array = new Uint8Array(), isCompressed = false): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(isCompressed ? 1 : 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

export type Exchanged = Awaited<ReturnType<typeof exchange>>;

export interface Sending {
  /** Several pieces have a DATA frame each. */
  readonly body?: Uint8Array | readonly Uint8Array[] | undefined;
  readonly isEnded?: boolean;
  readonly giveUpMs?: number;
  /** How many bytes are read every 50 ms; undefined: all as they come. */
  readonly slice?: number | undefined;
  /** How many bytes are read before the caller stops; undefined: all. */
  readonly stopsAfter?: number | undefined;
}

const SLICE_MS = 50;
const CANCEL = 8;

/** Resolves with the response, or when the stream ends without one. Throws for headers that Node refuses to send. */
export function exchange(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  { body = [], isEnded = true, giveUpMs = 60_000, ...reading }: Sending = {},
) {
  const beganAtMs = performance.now();
  const pieces = body instanceof Uint8Array ? [body] : body;
  const stream = session.request(headers, { endStream: isEnded && pieces.length === 0 });
  const received: Record<string, unknown> = {};
  const chunks: Buffer[] = [];
  const add = (more: object) => Object.assign(received, more);
  stream.on('response', add).on('trailers', add);
  stream.on('error', () => undefined); // "close" follows
  void sendBody(stream, pieces, isEnded);
  let hasLeft = false;
  const timer = setTimeout(() => {
    hasLeft = true;
    stream.close(CANCEL);
    stream.destroy();
  }, giveUpMs);
  void readBody(stream, reading, chunks);
  return new Promise<boolean>((resolve) => {
    // A response may end before an incomplete request does.
    const isWhole = () => received[':status'] !== undefined && !stream.aborted && !session.destroyed && !hasLeft;
    stream.on('end', () => isWhole() && resolve(true));
    stream.on('close', () => resolve(false));
  }).then((isAnswered) => {
    clearTimeout(timer);
    const { ':status': status, ...fields } = received;
    return {
      status: status === undefined ? undefined : Number(status),
      headers: new Headers(Object.entries(fields).map(([name, value]) => [name, String(value)])),
      body: Buffer.concat(chunks),
      /** "left": the caller gave it up. */
      outcome: isAnswered ? 'answered' : hasLeft ? 'left' : session.destroyed ? 'closed' : 'reset',
      resetCode: stream.rstCode ?? 0,
      tookMs: performance.now() - beganAtMs,
    };
  });
}

/** Node joins what it is given before a piece is on its way. */
async function sendBody(stream: ClientHttp2Stream, pieces: readonly Uint8Array[], isEnded: boolean): Promise<void> {
  const last = pieces.length - 1;
  for (const [index, piece] of pieces.entries()) {
    if (stream.destroyed) return;
    if (index === last) stream.write(piece);
    else await new Promise((resolve) => stream.write(piece, resolve));
  }
  if (isEnded && pieces.length > 0) stream.end();
}

async function readBody(stream: ClientHttp2Stream, { slice, stopsAfter }: Sending, chunks: Buffer[]): Promise<void> {
  if (slice === undefined && stopsAfter === undefined) {
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    return;
  }
  for (let bytes = 0; !stream.destroyed && bytes < (stopsAfter ?? Number.POSITIVE_INFINITY); ) {
    const chunk = stream.read(Math.min(slice ?? Number.POSITIVE_INFINITY, stream.readableLength) || undefined);
    if (chunk !== null) chunks.push(chunk);
    bytes += chunk?.length ?? 0;
    await delay(SLICE_MS);
  }
}

export async function exchangeAlone(to: To, headers: OutgoingHttpHeaders, sending?: Sending) {
  const session = await openSession(to);
  return exchange(session, headers, sending).finally(() => session.destroy());
}

export interface RawCall extends Sending {
  readonly path: string;
  readonly key?: string | undefined;
  readonly headers?: OutgoingHttpHeaders;
}

export async function rawGrpc(to: To, { path, key, headers: more, ...sending }: RawCall) {
  const { headers, tookMs } = await exchangeAlone(to, { ...grpcHeaders(path, key), ...more }, sending);
  const status = headers.get('grpc-status');
  return {
    status: status === null ? undefined : Number(status),
    message: decodeURIComponent(headers.get('grpc-message') ?? ''),
    reason: readDetails(Buffer.from(headers.get('grpc-status-details-bin') ?? '', 'base64')).errorInfo?.reason,
    headers,
    tookMs,
  };
}
