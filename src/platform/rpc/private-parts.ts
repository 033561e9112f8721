/**
 * The private parts of grpc-js and of Node that this server needs, all of them: grpc-js listens, and keeps the
 * connections. It neither reads calls nor responds to them. `test/rpc/private-parts.test.ts` fails when they change.
 */
import {
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { Server as NetServer, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Server } from '@grpc/grpc-js';
import { addressOf } from './address.ts';
import { type CallOfConnection, Connections, MAX_CALLS, UNLIMITED } from './connections.ts';
import { ofWhoHasMost } from './who-has-most.ts';

interface ServerParts {
  readonly commonServerOptions: ServerOptions;
  _streamHandler(
    extra: unknown,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    flags: number,
    rawHeaders: readonly string[],
  ): void;
  _sessionHandler(http2Server: NetServer): (session: Http2Session) => void;
}

/**
 * By itself Node closes a connection that ends 33 calls a second early, after a burst of 1,000, or that has had 1,000
 * malformed calls. An edge's connection has the calls of many callers, and one of them could end those of all others;
 * Envoy bounds what each of them may end. `resetBound` is for other connections. With its 10 MB for a connection, 60
 * lists that wait for their readers on an edge's made refusals of all other calls there: windows and slots bound what
 * waits. `settings` bounds the open calls of a connection unless it is an edge's (connections.ts). Node also
 * leaves out a header with a space at an end: a write would go through as if it had no If-Match.
 */
const HTTP2_OPTIONS = {
  streamResetBurst: UNLIMITED,
  streamResetRate: UNLIMITED,
  maxSessionInvalidFrames: UNLIMITED,
  maxSessionMemory: UNLIMITED, // grpc-js's own default, which we lean on
  strictFieldWhitespaceValidation: false,
  settings: { maxConcurrentStreams: MAX_CALLS },
};

/**
 * What a connection may have under way, over all of its calls. With HTTP/2's own 64 KB a small request waits behind the
 * bodies of all others on an edge's connection: beside 400 of 64 KB for 300 ms. Node gives room back as bytes come in,
 * and what it holds is bounded by the windows of the calls.
 */
const CONNECTION_WINDOW_BYTES = 1_048_576;

export interface Handlers {
  /** Whether a connection is an edge's, which the headers of a call on it may prove. */
  readonly isEdge: (session: Http2Session, headers?: IncomingHttpHeaders) => boolean;
  readonly onCall: (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    isByEdge: boolean,
  ) => CallOfConnection | undefined;
}

/**
 * Gives every call of a server that does not listen yet to `onCall`, in place of grpc-js's own handlers. By itself
 * grpc-js responds to a call of an unknown method, or with a wrong content type, at once: to callers without a key, and
 * without ever reading what they send, so that Node keeps the stream for good.
 */
export function handleCalls(server: Server, { isEdge, onCall }: Handlers): Connections {
  const parts = server as unknown as ServerParts;
  Object.assign(parts.commonServerOptions, HTTP2_OPTIONS);
  const connections = new Connections();
  const isBounded = resetBound(connections);
  const sessionHandler = parts._sessionHandler.bind(server);
  parts._sessionHandler = (http2Server) => {
    boundHandshakes(http2Server);
    const handle = sessionHandler(http2Server);
    return (session) => {
      handle(session);
      outliveStreams(session);
      connections.add(session, socketOf(session));
      if (isEdge(session)) connections.trust(session);
      if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    };
  };
  parts._streamHandler = (_extra, stream, headers, _flags, rawHeaders) => {
    stream.on('error', () => undefined); // it closes
    const { session } = stream;
    if (session === undefined) return; // it is gone
    const isByEdge = isEdge(session, headers);
    if (isByEdge) connections.trust(session);
    else if (isBounded(stream, session) || connections.isTooMany(session)) return connections.end(session);
    if (stream.aborted) return void stream.resume(); // one read may have thousands of calls with their resets
    if (!isByEdge && bytesOf(rawHeaders) > MAX_HEADER_BYTES) return stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    joinRepeated(headers, rawHeaders);
    try {
      connections.watch(session, onCall(stream, headers, isByEdge));
    } catch {
      stream.close(constants.NGHTTP2_INTERNAL_ERROR); // the error would end the process
    }
  };
  return connections;
}

/** How many connections may be in their TLS handshake. Each holds 20 KB, and more when all end at once. */
const MAX_HANDSHAKES = 256;

/** One more ends the oldest one of the address that has most. A server without TLS has none. */
function boundHandshakes(server: NetServer): void {
  if (!(server instanceof TlsServer)) return;
  const pending = new Map<string, Socket>();
  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on('secureConnection', (socket: Socket) => pending.delete(nameOf(socket)));
  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket);
    pending.set(name, socket);
    socket.once('close', () => pending.delete(name));
    if (pending.size <= MAX_HANDSHAKES) return;
    ofWhoHasMost(pending.values(), (one) => addressOf(undefined, () => one.remoteAddress ?? ''))[0]?.destroy();
  });
}

/** The socket below a session. `session.socket` is another object, whose `destroy` is the session's. */
function socketOf(session: Http2Session): Socket {
  return partOf(session, 'socket') as Socket;
}

function partOf(session: Http2Session, name: string): unknown {
  return Reflect.get(
    session,
    Object.getOwnPropertySymbols(session).find(({ description }) => description === name) ?? '',
  );
}

/** Holds an object until the stream that it was registered with has been collected. */
const held = new FinalizationRegistry<unknown>(() => undefined);

/**
 * Node aborts the process if it collects a connection before a stream of it that was destroyed amid a header block.
 * Such a stream lives for as long as bytes of it wait on the socket. Two things let the connection live longer. An
 * error of the socket does not end it: the socket closes itself, drops those bytes, and that ends the connection. And a
 * stream that has not sent all of its bytes holds the connection's native part.
 */
function outliveStreams(session: Http2Session): void {
  session.socket.removeAllListeners('error').on('error', () => undefined); // it closes
  const native = partOf(session, 'kHandle'); // the connection loses it when it ends
  session.on('stream', (stream) => {
    stream.once('close', () => stream.writableFinished || held.register(stream, native));
  });
}

/**
 * The headers of a call, but for an edge's, which Envoy bounds: as much as other servers of gRPC take. A call keeps
 * them while it is open, and to send one again costs its caller a byte (HPACK).
 */
const MAX_HEADER_BYTES = 8_192;

const bytesOf = (headers: readonly string[]) => headers.reduce((sum, { length }) => sum + length, 0);

/** What an address or account may end early within this time, but for an edge: as much as Node allows a connection. */
const MAX_RESETS = 1_000;
const RESETS_MS = 30_000;
/** What a connection may call while its address or account has ended more: enough for the operator's command. */
const CALLS_BESIDE_RESETS = 10;

/**
 * Counts the calls that callers end early: of strangers by address, since a new connection is cheap, of others by
 * account. So nobody ends the connections of another account. Returns true for a call too many.
 */
function resetBound(connections: Connections): (stream: ServerHttp2Stream, session: Http2Session) => boolean {
  let resets = new Map<string, number>();
  let sinceMs = 0;
  return (stream, session) => {
    const connection = connections.of(session);
    if (connection === undefined) return true; // it has ended
    const callers = () => `${connection.is} ${connection.owner}`;
    if (performance.now() - sinceMs > RESETS_MS) [resets, sinceMs] = [new Map(), performance.now()];
    const count = () => void resets.set(callers(), (resets.get(callers()) ?? 0) + 1);
    const onAborted = () => {
      count();
      stream.resume(); // or Node never closes it, if it was reset by NO_ERROR
    };
    if (stream.aborted) onAborted();
    else stream.once('aborted', onAborted);
    // One that has been answered by then is not aborted.
    stream.once('close', () => !stream.aborted && stream.rstCode !== constants.NGHTTP2_NO_ERROR && count());
    return (stream.id ?? 0) > 2 * CALLS_BESIDE_RESETS && (resets.get(callers()) ?? 0) > MAX_RESETS;
  };
}

/** Makes a list of a header that came several times. Of some, such as `if-match`, Node leaves out all but the first. */
function joinRepeated(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
  if (rawHeaders.length === 2 * Object.keys(headers).length) return;
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  for (const [name, indexes] of Map.groupBy(names.keys(), (index) => names[index] ?? '')) {
    if (indexes.length > 1) headers[name] = indexes.map((index) => rawHeaders[2 * index + 1]).join(', ');
  }
}
