/**
 * The gRPC server: passes each call to the chain of its method as soon as its headers have arrived, and responds with
 * what the chain returns. Whatever goes wrong ends the call as an error of the table, of which observers learn.
 */
import type { IncomingHttpHeaders } from 'node:http2';
import { Server } from '@grpc/grpc-js';
import { ConfigError } from '../config/setting.ts';
import { type ApiError, apiError, errorSaying, notAllowed } from '../errors.ts';
import { type Operation, type Operations, UNKNOWN } from '../proto/operations.ts';
import { type Arrival, type BeforeResponse, IncomingCall } from './call.ts';
import { type Call, chain, type End, type Interceptor, type Next, type Observer } from './chain.ts';
import type { Connections } from './connections.ts';
import { toApiError } from './errors.ts';
import { type Implementation, RAW } from './methods.ts';
import type { OpenCalls } from './open-calls.ts';
import { type Handlers, handleCalls } from './private-parts.ts';

export interface ServedMethod extends Pick<Call, 'operation' | 'codec'> {
  readonly enter: Next;
}

/** The methods of a service, behind the interceptors. */
export function serve(
  { byPath }: Pick<Operations, 'byPath'>,
  methods: Implementation,
  interceptors: readonly Interceptor[],
): ServedMethod[] {
  return methods.map(({ codec, handler }) => {
    const operation = byPath.get(codec.path);
    if (operation === undefined) throw new Error(`the proto files have no ${codec.path}`);
    if (operation.isPublic && !interceptors.some(({ leaves }) => leaves?.includes('caller')))
      throw new Error(`no interceptor of ${codec.path} identifies its caller`);
    const enter = chain(interceptors, async (call) => {
      const result = handler(call);
      return 'then' in result ? { message: await result } : { messages: result };
    });
    return { operation, codec, enter };
  });
}

/** What is served. Other types that begin so are not Protobuf. */
const GRPC_TYPE = /^application\/grpc(\+proto)? *(;|$)/i;

const NOT_GRPC = 'calls over gRPC are in Protobuf here: send "Content-Type: application/grpc"';

export interface GrpcServerOptions {
  /** Finds out where a call comes from, and how its caller speaks. `peer` returns the other end of the connection. */
  readonly originOf: (
    headers: IncomingHttpHeaders,
    operation: Operation,
    isByEdge: boolean,
    peer: () => string,
  ) => Pick<Arrival, 'protocol' | 'source' | 'address'>;
  readonly beforeResponse?: BeforeResponse;
  readonly methods: readonly ServedMethod[];
  /** The interceptors of calls of a method that does not exist: its caller is judged like any other. */
  readonly forUnknown: readonly Interceptor[];
  readonly operations: Operations;
  readonly openCalls: OpenCalls;
  readonly isEdge: Handlers['isEdge'];
  /** Whether a method exists for an edge alone. */
  readonly isForEdge: (path: string) => boolean;
  readonly note?: ((call: Call) => void) | undefined;
  readonly observers?: readonly Observer[];
  /** Runs each call in a span. Undefined without a collector of traces. */
  readonly traceCall?: ((call: Call, run: () => Promise<End>) => void) | undefined;
}

export interface GrpcServer {
  readonly server: Server;
  readonly connections: Pick<Connections, 'endAll'>;
}

/** @throws ConfigError when the proto files have a method that nothing serves. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { methods, forUnknown, operations, openCalls, isEdge, isForEdge, originOf, beforeResponse } = options;
  const { note, observers = [], traceCall = (_, run) => void run() } = options;
  const byPath = new Map(methods.map((method) => [method.operation.path, method]));
  const missing = [...operations.byPath.keys()].find((path) => !byPath.has(path));
  if (missing !== undefined) {
    throw new ConfigError(`nothing serves ${missing}: add its service to src/shop/services.ts or src/server.ts`);
  }
  const refused = (error: () => ApiError): ServedMethod => {
    const refuse: Next = async () => {
      throw error();
    };
    return { operation: UNKNOWN, codec: RAW, enter: chain(forUnknown, refuse) };
  };
  const methodOf = (path: string, method: string, contentType: string, isByEdge: boolean): ServedMethod => {
    if (!GRPC_TYPE.test(contentType))
      return refused(() => errorSaying('UNSUPPORTED_CONTENT_TYPE', NOT_GRPC, { httpStatus: 415 }));
    const served = byPath.get(path);
    if (served !== undefined && method === 'POST' && (isByEdge || !isForEdge(path))) return served;
    const asSent = { method, path: path.replace(/(?<=.)\/$/, '') }; // the edge adds a slash to what it has no route for
    return refused(() => (method === 'POST' ? apiError('ROUTE_NOT_FOUND', asSent) : notAllowed(asSent, 'POST')));
  };
  const onCall: Handlers['onCall'] = (stream, headers, isByEdge) => {
    const { ':path': path = '*', ':method': httpMethod = '' } = headers; // a CONNECT has no path
    const { operation, codec, enter } = methodOf(path, httpMethod, headers['content-type'] ?? '', isByEdge);
    const peer = () => stream.session?.socket.remoteAddress ?? '';
    const origin = originOf(headers, operation, isByEdge, peer);
    const call = new IncomingCall(stream, headers, { operation, codec, ...origin }, beforeResponse);
    openCalls.add(call);
    note?.(call);
    const toEnd = () => run(call, enter, observers);
    // A span is sent when it ends, and a stream of events may be open for an hour.
    if (call.operation.isEventStream) void toEnd();
    else traceCall(call, toEnd);
    return call;
  };
  const server = new Server({ 'grpc.enable_channelz': 0 });
  return { server, connections: handleCalls(server, { isEdge, onCall }) };
}

/** Runs a call to its end. Never rejects. */
async function run(call: IncomingCall, enter: Next, observers: readonly Observer[]): Promise<End> {
  let error: ApiError | undefined;
  try {
    await call.respond(await enter(call));
  } catch (thrown) {
    error = toApiError(thrown, call.requestId);
    call.fail(error);
  }
  const end = call.end(error);
  for (const observe of observers) observe(call, end);
  return end;
}
