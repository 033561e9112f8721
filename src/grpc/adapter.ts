/**
 * Between grpc-js and the chain: hands each call to the chain when its headers have arrived, and sends what the chain
 * resolves or rejects with. The request stays bytes until the chain has let it through.
 *
 * A caller over HTTP gets its response in HTTP (http-response.ts). An error to a gRPC caller goes out as "trailers only".
 */
import {
  type MethodDefinition,
  Server,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import { MAX_BODY_BYTES } from '../config/constants.ts';
import { ApiError, apiError } from '../errors.ts';
import { type Call, chain, type Interceptor, type Response } from '../interceptors/chain.ts';
import type { Operation } from '../proto/operations.ts';
import type { Context } from '../services/service.ts';
import { InterceptedUnaryCall, type Method, type UnaryCall } from './call.ts';
import { interceptHttpStatus, type ToHttpError } from './http-response.ts';
import { toStatus } from './status.ts';

type Handler = (request: never, context: Context) => Promise<unknown>;

/** A service whose every method passes the interceptors. */
export interface InterceptedService {
  readonly definition: ServiceDefinition;
  readonly methods: Readonly<Record<string, Handler>>;
  readonly interceptors: readonly Interceptor[];
}

export interface GrpcServerOptions {
  readonly services: readonly InterceptedService[];
  readonly operations: ReadonlyMap<string, Operation>;
  /** What a caller over HTTP gets when a call ends with an error. */
  readonly toHttpError?: ToHttpError;
  /** Told of each call just before it is answered: it may add headers to the response. */
  readonly onEnd?: (call: Call, error?: ApiError) => void;
  /** Intercepts the calls of all services that are added to the server later: health checks, reflection, files. */
  readonly otherCalls?: ServerInterceptor;
}

/** A grpc-js server with these services. Others can be added to it. */
export function createGrpcServer(options: GrpcServerOptions): Server {
  const { services, operations, toHttpError = () => undefined, onEnd = () => undefined, otherCalls } = options;
  const taken = new Map<string, Method>();
  const interceptor: ServerInterceptor = (method, base) => {
    const entry = taken.get(method.path);
    if (entry !== undefined) return new InterceptedUnaryCall(base, entry);
    interceptHttpStatus(base);
    return otherCalls?.(method, base) ?? new ServerInterceptingCall(base);
  };
  const server = new Server({
    'grpc.max_receive_message_length': MAX_BODY_BYTES,
    interceptors: [interceptor],
  });
  for (const { definition, methods, interceptors } of services) {
    const rawDefinition: Record<string, MethodDefinition<Buffer, Buffer>> = {};
    for (const [name, method] of Object.entries(definition)) {
      const operation = operations.get(method.path);
      const handler = methods[name];
      if (operation === undefined || handler === undefined) throw new Error(`nothing implements ${method.path}`);
      const enter = chain(interceptors, async (call) => {
        const message = await handler(call.request as never, call);
        return { message, bytes: method.responseSerialize(message) };
      });
      const responseCodec = { serialize: method.responseSerialize, deserialize: method.responseDeserialize };
      taken.set(method.path, {
        operation,
        responseCodec,
        decodeRequest: method.requestDeserialize,
        run: (call) => run(call, enter, toHttpError, onEnd),
      });
      rawDefinition[name] = { ...method, ...RAW };
    }
    const untouched = Object.fromEntries(Object.keys(definition).map((name) => [name, neverCalled]));
    server.addService(rawDefinition, untouched);
  }
  return server;
}

/** Of a method whose messages are bytes to grpc-js. */
const asIs = (bytes: Buffer) => bytes;
export const RAW = {
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
};

/** grpc-js wants a handler for each method; `InterceptedUnaryCall` comes before it. */
function neverCalled(): void {
  throw new Error('a call came past the chain');
}

function run(
  call: UnaryCall,
  enter: (call: Call) => Promise<Response>,
  toHttpError: ToHttpError,
  onEnd: (call: Call, error?: ApiError) => void,
): void {
  const fail = (error: unknown) => {
    const known = error instanceof ApiError ? error : apiError('INTERNAL', call, { cause: error });
    onEnd(call, known);
    const http = toHttpError({ metadata: call.metadata, path: call.operation.path }, known);
    if (http === undefined) call.end(toStatus(known, call.responseHeaders));
    else call.respondHttp(http);
  };
  call.onExpired = () => fail(apiError('DEADLINE_EXCEEDED'));
  enter(call)
    .then(({ bytes, http }) => {
      onEnd(call);
      if (http === undefined) call.respond(bytes);
      else call.respondHttp(http);
    })
    .catch(fail);
}
