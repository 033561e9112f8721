/**
 * A server whose two methods do what the test says, one unary and one that streams, and callers over HTTP/2 who see
 * every frame. It has no key, no limits and no Envoy: the protocol of a caller follows from its headers.
 */
import { type ClientHttp2Session, connect, type Http2Session } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { ServerCredentials } from '@grpc/grpc-js';
import { type WebServiceServer, WebServiceService } from '../../gen/apiplatform/web/v1/web.ts';
import type { HttpBody } from '../../gen/google/api/httpbody.ts';
import { origins } from '../../src/platform/edge/origins.ts';
import { readMessage } from '../../src/platform/interceptors/read-message.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { createValidation } from '../../src/platform/proto/validation-rules.ts';
import type { IncomingCall } from '../../src/platform/rpc/call.ts';
import { toAccountId, toKeyId } from '../../src/platform/rpc/caller.ts';
import { type Call, check, type End } from '../../src/platform/rpc/chain.ts';
import { implement } from '../../src/platform/rpc/methods.ts';
import { OpenCalls } from '../../src/platform/rpc/open-calls.ts';
import { createGrpcServer, serve } from '../../src/platform/rpc/server.ts';
import { Turns } from '../../src/platform/rpc/turns.ts';
import { grpcFrame, grpcHeaders } from '../support/calls/http2.ts';
import type { Scope } from '../support/scope.ts';

export const PROTOCOLS = ['gRPC', 'REST', 'Connect'] as const;
export type CallerProtocol = (typeof PROTOCOLS)[number];

/** What a method does next: sends a piece, ends with success, or fails. */
type Step = HttpBody | 'end' | Error;

export type Scripted = ReturnType<typeof makeScript>;

export type ScriptedServer = Awaited<ReturnType<typeof startScriptedServer>>;

const FOREVER_MS = 3_600_000;

export const EDGE_SECRET = 'the secret of the edge';

export function piece(text: string, contentType = 'text/plain'): HttpBody {
  return { contentType, data: Buffer.from(text), extensions: [] };
}

export async function startScriptedServer(t: Scope, { maxStreamMs = FOREVER_MS } = {}) {
  const scripts = new Map<string, Scripted>();
  const sessions = new Map<unknown, Http2Session>();
  const scriptOf = ({ requestId }: Call): Scripted => {
    const script = scripts.get(requestId);
    if (script === undefined) throw new Error(`there is no call ${requestId}`);
    return script;
  };
  /** The numbers of feeds that other servers were told of. */
  const told: number[] = [];
  const openCalls = new (class extends OpenCalls {
    override add(call: IncomingCall): void {
      if (call.header('x-broken') !== undefined) throw new Error('a fault of the server');
      if (call.header('x-feed') !== undefined)
        Object.assign(call, { operation: { ...call.operation, isEventStream: true } });
      scripts.set(call.requestId, makeScript(call, sessions.get(call.requestId)));
      super.add(call);
    }
  })({
    maxStreamMs,
    maxEventStreamMs: maxStreamMs,
    maxEventStreams: 10,
    countEventStreams: (_, own) => told.push(own) > 0,
  });
  /** Takes the account of the caller from a header. A call with `x-share` has none, one with `x-keyless` needs none. */
  const shares = check({ name: 'shares', leaves: ['caller', 'isAdmitted'] }, async (call) => {
    const account = call.header('x-account');
    if (account !== undefined) {
      const accountId = toAccountId(BigInt(account));
      await openCalls.holdForAccount(call, accountId);
      const quota = { perMinute: 1, perDay: 1 };
      call.caller = { accountId, keyId: toKeyId(1n), permission: 'write', plan: 'free', quota };
      call.isAdmitted = true;
    } else if (call.header('x-share') !== undefined) openCalls.holdForAddress(call, 'key');
    else if (call.header('x-keyless') !== undefined) openCalls.holdForAddress(call, call.operation.path);
  });
  const gate = check({ name: 'gate' }, async (call) => {
    if (call.header('x-gate') !== undefined) await scriptOf(call).gate;
  });
  const { registry, byPath } = loadOperations();
  const all = [...byPath.values()].filter(({ path }) => path.startsWith('/apiplatform.web.v1.'));
  const operations = { registry, byPath: new Map(all.map((operation) => [operation.path, operation])) };
  const methods = {
    async checkHealth(_request: unknown, call: Call) {
      for await (const step of methods.getFile(_request, call)) return step;
      return piece('whole');
    },
    async *getFile(_request: unknown, call: Call) {
      for (;;) {
        const step = await scriptOf(call).nextStep();
        if (step instanceof Error) throw step;
        if (step === 'end') return;
        yield step;
      }
    },
  };
  const message = readMessage(createValidation(registry), new Turns());
  const { isEdge, ...origin } = origins(all, EDGE_SECRET);
  const { server } = createGrpcServer({
    methods: serve(operations, implement<WebServiceServer>(WebServiceService, methods), [shares, gate, message]),
    forUnknown: [],
    operations,
    ...origin,
    isForEdge: () => false,
    isEdge: (session, headers) => {
      if (headers !== undefined) sessions.set(headers['x-request-id'], session);
      return isEdge(session, headers);
    },
    openCalls,
    observers: [(call, end) => scriptOf(call).ends.push(end)],
  });
  t.teardown(() => {
    openCalls.close();
    server.forceShutdown();
  });
  const port = await promisify(server.bindAsync).call(server, '127.0.0.1:0', ServerCredentials.createInsecure());
  return { port, server, openCalls, told, find: (id: string) => scripts.get(id) };
}

function makeScript(call: IncomingCall, session: Http2Session | undefined) {
  const steps = new PassThrough({ objectMode: true });
  const iterator: AsyncIterator<readonly [Step]> = steps[Symbol.asyncIterator]();
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();
  const ends: End[] = [];
  return {
    call,
    session,
    ends,
    step: (next: Step) => void steps.write([next]),
    nextStep: async () => (await iterator.next()).value[0],
    gate,
    /** Lets a call with the header `x-gate` read its message. */
    openGate,
  };
}

export type Outcome = 'answered' | 'refused' | 'reset';

export type Caller = ReturnType<typeof request>;

interface RequestOptions {
  readonly protocol?: CallerProtocol;
  readonly isStream?: boolean;
  readonly id: string;
  /** How much of the response the caller lets through before it reads. */
  readonly window?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** False leaves the request without its end, and without the second half of its message. */
  readonly isWhole?: boolean;
  readonly session?: ClientHttp2Session;
  readonly from?: string;
}

/** Nobody else's callers speak anything but gRPC. */
const FROM_ENVOY = { 'x-petstore-edge': EDGE_SECRET, 'x-forwarded-for': '127.0.0.1' };

const HEADERS = {
  gRPC: {},
  REST: { ...FROM_ENVOY, 'x-envoy-original-path': '/openapi.json', 'x-envoy-original-method': 'GET' },
  Connect: { ...FROM_ENVOY, 'x-petstore-connect': '1' },
} as const satisfies Record<CallerProtocol, Readonly<Record<string, string>>>;

function openConnection(port: number, window: number, from = '127.0.0.1'): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, {
    createConnection: () => connectTcp({ host: '127.0.0.1', port, localAddress: from }),
    settings: { initialWindowSize: window },
  });
  return session.on('error', () => undefined);
}

export function request(port: number, options: RequestOptions) {
  const { protocol = 'gRPC', isStream, id, window = 65_535, headers: more = {}, isWhole = true } = options;
  const session = options.session ?? openConnection(port, window, options.from);
  const { path } = isStream ? WebServiceService.getFile : WebServiceService.checkHealth;
  const headers = { ...grpcHeaders(path), ...HEADERS[protocol], 'x-request-id': id, ...more };
  const stream = session.request(headers, { endStream: false });
  const frame = grpcFrame();
  if (isWhole) stream.end(frame);
  else stream.write(frame.subarray(0, 3));
  const chunks: Buffer[] = [];
  const arrived = Promise.withResolvers<Readonly<Record<string, unknown>>>();
  const seen: Record<string, unknown> = {};
  stream.on('response', (found) => arrived.resolve(Object.assign(seen, found)));
  stream.on('trailers', (found) => Object.assign(seen, found));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('error', () => undefined); // `rstCode` tells
  const outcome = new Promise<Outcome>((resolve) => {
    stream.on('close', () => resolve(stream.rstCode ? 'reset' : outcomeOf(protocol, seen)));
  });
  return { session, stream, headers: arrived.promise, seen, received: () => Buffer.concat(chunks), outcome };
}

function outcomeOf(protocol: CallerProtocol, headers: Readonly<Record<string, unknown>>): Outcome {
  if (headers[':status'] === undefined) return 'reset';
  const status = Number(headers[':status']);
  const isHttp = protocol !== 'gRPC' && headers['grpc-status'] === undefined;
  if (isHttp) return status < 400 ? 'answered' : 'refused';
  if (headers['grpc-status'] === undefined) return 'reset';
  return headers['grpc-status'] === '0' ? 'answered' : 'refused';
}

/** How many streams an HTTP/2 connection has. Node has no public number. */
export function streamsOf(session: Http2Session): number {
  const symbol = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'state');
  const state = symbol && (session as unknown as Record<symbol, { streams?: Map<number, unknown> }>)[symbol];
  if (state?.streams === undefined) throw new Error('Node keeps the streams of a session elsewhere now');
  return state.streams.size;
}
