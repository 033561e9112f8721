/**
 * The private parts of grpc-js that this server needs, all of them. `test/rpc/private-parts.test.ts` fails when they
 * change.
 */
import {
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import { type Server, type ServerInterceptingCallInterface, status as Status } from '@grpc/grpc-js';

/** A call as grpc-js's server makes it. */
export interface BaseCall extends ServerInterceptingCallInterface {
  readonly stream: ServerHttp2Stream;
  /** Discards what the caller sends from now on. */
  notifyOnCancel(): void;
}

type PartialStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

interface Reading {
  readonly incomingEncoding: string;
  readonly cancelled: boolean;
  /** 0 between two messages. */
  readonly decoder: { readonly readState: number };
  decompressMessage(message: Buffer, encoding: string): Promise<Buffer> | Buffer;
  handleEndEvent(): void;
}

const ENCODINGS = ['identity', 'deflate', 'gzip'];
const UNKNOWN_ENCODING: PartialStatus = {
  code: Status.UNIMPLEMENTED,
  details: `grpc-encoding must be one of ${ENCODINGS.join(', ')}`,
};
const CUT_OFF: PartialStatus = { code: Status.INTERNAL, details: 'it ends within a message' };
/** Of a message that says it is compressed, in a call that says none is, or whose flags are none of gRPC's. */
export const WRONG_FLAGS: PartialStatus = { code: Status.INTERNAL, details: 'a message has flags that can not be' };

/**
 * Makes a call decompress one message after the other. By itself grpc-js starts a decompressor for each of the hundreds
 * of small messages that fit into a frame, wanted or not. It also ignores what gRPC makes an error: an encoding that it
 * does not know, flags that can't be, the beginning of another message.
 */
function readStrictly(call: Reading & BaseCall): void {
  const { incomingEncoding } = call;
  const decompress = call.decompressMessage.bind(call);
  let last: Promise<unknown> = Promise.resolve();
  call.decompressMessage = (message, encoding) => {
    const [flags = 0] = message;
    if (!ENCODINGS.includes(incomingEncoding)) return Promise.reject(UNKNOWN_ENCODING);
    if (flags > 1 || (flags === 1 && incomingEncoding === 'identity')) return Promise.reject(WRONG_FLAGS);
    if (flags === 0) return decompress(message, encoding);
    const next = last.then(() => (call.cancelled ? Buffer.alloc(0) : decompress(message, encoding)));
    last = next.catch(() => undefined);
    return next;
  };
  const end = call.handleEndEvent.bind(call);
  call.handleEndEvent = () => (call.decoder.readState === 0 ? end() : call.sendStatus(CUT_OFF));
}

interface ServerParts {
  readonly commonServerOptions: ServerOptions;
  _streamHandler(extra: unknown, stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...rest: unknown[]): void;
  _retrieveHandler(path?: string): object;
  _sessionHandler(http2Server: object): (session: Http2Session) => void;
  _verifyContentType(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean;
  _runHandlerForCall(call: BaseCall & Reading, handler: { readonly path: string }): boolean;
}

/** Whether a connection is an edge's, which a header of a call on it may prove. */
export type IsEdge = (session: Http2Session | undefined, header: (name: string) => string | undefined) => boolean;

/** What grpc-js serves, alone: it would take any type that begins so for Protobuf. */
const GRPC_TYPE = /^application\/grpc(\+proto)? *(;|$)/i;

/** What the pseudo-headers and headers of a call say that its metadata don't. */
export interface CallHeaders {
  readonly httpMethod: string;
  /** `grpc-timeout`. grpc-js would take parts of a malformed one, and loses what is beyond 2^31 ms. */
  readonly timeout: string | undefined;
}

/**
 * Gives every call of a server to `take`, in place of grpc-js's own handlers. By itself grpc-js answers a call of an
 * unknown method, or with a wrong content type, at once: to callers without a key, and without ever reading what they
 * send, so that Node keeps the stream for good. It runs a call whatever its HTTP method.
 */
export function takeEveryCall(
  server: Server,
  isEdge: IsEdge,
  take: (call: BaseCall, path: string, headers: CallHeaders) => void,
): void {
  const parts = server as unknown as ServerParts;
  const boundResets = resetBound();
  /** How many calls are open on connections that are no edge's. */
  const open = new WeakMap<Http2Session, number>();
  const sessionHandler = parts._sessionHandler.bind(server);
  parts._sessionHandler = (http2Server) => {
    const handle = sessionHandler(http2Server);
    return (session) => {
      handle(session);
      session.setTimeout(IDLE_MS);
      session.on('timeout', () => {
        if (!isEdge(session, () => undefined) && (open.get(session) ?? 0) === 0) session.close();
      });
    };
  };
  const kept = new WeakMap<ServerHttp2Stream, CallHeaders>();
  const streamHandler = parts._streamHandler;
  parts._streamHandler = function (extra, stream, headers, ...[, rawHeaders]) {
    joinRepeated(headers, rawHeaders as readonly string[]);
    streamHandler.call(this, extra, stream, headers);
  };
  // A CONNECT has no path.
  parts._retrieveHandler = (path = '*') => ({ path, serialize: asIs, deserialize: asIs });
  parts._runHandlerForCall = (call, { path }) => {
    readStrictly(call);
    take(call, path, kept.get(call.stream) ?? { httpMethod: '', timeout: undefined });
    return true;
  };
  parts._verifyContentType = (stream, headers) => {
    const { session } = stream;
    if (session !== undefined && !isEdge(session, (name) => headers[name]?.toString())) {
      if (!boundResets(stream)) return false;
      open.set(session, (open.get(session) ?? 0) + 1);
      stream.once('close', () => open.set(session, (open.get(session) ?? 0) - 1));
    }
    showWrong(headers);
    const { ':method': httpMethod = '', 'content-type': type = '', 'grpc-timeout': timeout } = headers;
    kept.set(stream, { httpMethod, timeout: timeout?.toString() });
    delete headers['grpc-timeout'];
    if (GRPC_TYPE.test(type)) return true;
    stream.respond({ ':status': 415 }, { endStream: true });
    stream.resume();
    setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), STOP_MS).unref(); // at once, the answer would be lost
    return false;
  };
}

/** How long a connection without calls stays open, but for an edge's: those have their own ends. */
const IDLE_MS = 10_000;

const UNLIMITED = 2 ** 32 - 1;

/**
 * By itself Node closes a connection that ends 33 calls a second early, after a burst of 1,000, or that has had 1,000
 * malformed calls. An edge's connection has the calls of many callers, and one of them could end those of all others;
 * Envoy bounds what each of them may end. `resetBound` is for other connections. Node also leaves out a header with a
 * space at an end: a write would go through as if it had no If-Match.
 */
const HTTP2_OPTIONS = {
  streamResetBurst: UNLIMITED,
  streamResetRate: UNLIMITED,
  maxSessionInvalidFrames: UNLIMITED,
  strictFieldWhitespaceValidation: false,
};

/** What an address may end early within this time, but for an edge: as much as Node allows a connection. */
const MAX_RESETS = 1_000;
const RESETS_MS = 30_000;
/** What a connection may call while its address has ended more: enough for the operator's command. */
const CALLS_BESIDE_RESETS = 10;

/**
 * Bounds the calls that callers end early. By address: a new connection is cheap. Returns false for a call too many,
 * and ends its connection.
 */
function resetBound(): (stream: ServerHttp2Stream) => boolean {
  let resets = new Map<string, number>();
  let sinceMs = 0;
  return (stream) => {
    const address = stream.session?.socket.remoteAddress ?? '';
    if (performance.now() - sinceMs > RESETS_MS) [resets, sinceMs] = [new Map(), performance.now()];
    stream.once('close', () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) resets.set(address, (resets.get(address) ?? 0) + 1);
    });
    const isBounded = (stream.id ?? 0) > 2 * CALLS_BESIDE_RESETS && (resets.get(address) ?? 0) > MAX_RESETS;
    if (isBounded) stream.session?.destroy();
    return !isBounded;
  };
}

/** Sets them for a server that does not listen yet. */
export function setHttp2Options(server: Server): void {
  Object.assign((server as unknown as ServerParts).commonServerOptions, HTTP2_OPTIONS);
}

/** Makes a list of a header that came several times. Of some, such as `if-match`, Node leaves out all but the first. */
function joinRepeated(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
  if (rawHeaders.length === 2 * Object.keys(headers).length) return;
  const lists = new Map<string, string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    const list = lists.get(name);
    lists.set(name, list === undefined ? value : `${list}, ${value}`);
    if (list !== undefined) headers[name] = lists.get(name);
  }
}

/**
 * grpc-js leaves out a header with a byte that metadata can't have, and what it asks for would be ignored. Here such a
 * byte becomes a character with which no idempotency key, id or name in a query is valid, and no entity tag matches.
 */
function showWrong(headers: IncomingHttpHeaders): void {
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string' || name.startsWith(':') || /^[ -~]*$/.test(value)) continue;
    headers[name] = value.replaceAll('\t', ' ').replaceAll(/[^ -~]/g, name === 'idempotency-key' ? ',' : '?');
  }
}

/** How long a caller who has the answer may go on sending. */
export const STOP_MS = 1_000;

/** Messages are passed as bytes. */
const asIs = (bytes: Buffer) => bytes;
