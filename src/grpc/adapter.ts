/**
 * The adapter between grpc-js and the interceptor chain. It passes each call to the chain as soon as its headers have
 * arrived, and sends the result. The request message stays encoded until the chain needs it.
 *
 * A caller over HTTP gets an HTTP response (http-response.ts). A gRPC caller gets an error as "trailers only".
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
import { type Call, chain, type Interceptor, type Next } from '../interceptors/chain.ts';
import type { Operation } from '../proto/operations.ts';
import type { Context } from '../services/service.ts';
import { type InterceptedMethod, InterceptedUnaryCall, type UnaryCall } from './call.ts';
import { interceptHttpStatus, type ToHttpError } from './http-response.ts';
import { toStatus } from './status.ts';

type Handler = (request: never, context: Context) => Promise<unknown>;

/** A service whose methods all pass the interceptors. */
export interface InterceptedService {
  readonly definition: ServiceDefinition;
  readonly methods: Readonly<Record<string, Handler>>;
  readonly interceptors: readonly Interceptor[];
}

export interface GrpcServerOptions {
  readonly services: readonly InterceptedService[];
  readonly operations: ReadonlyMap<string, Operation>;
  /** Makes the response to a caller over HTTP from the error that ended a call. */
  readonly toHttpError?: ToHttpError;
  /** Called just before each call is answered. It may add response headers. */
  readonly onEnd?: (call: Call, error?: ApiError) => void;
  /** Intercepts the calls of the services that are added to the server later: health checks, reflection, files. */
  readonly otherCalls?: ServerInterceptor;
}

/** Creates a grpc-js server with these services. Others can be added to it. */
export function createGrpcServer(options: GrpcServerOptions): Server {
  const { services, operations, toHttpError = () => undefined, onEnd = () => undefined, otherCalls } = options;
  const interceptedMethods = new Map<string, InterceptedMethod>();
  const interceptor: ServerInterceptor = (definition, base) => {
    const method = interceptedMethods.get(definition.path);
    if (method !== undefined) return new InterceptedUnaryCall(base, method);
    interceptHttpStatus(base);
    return otherCalls?.(definition, base) ?? new ServerInterceptingCall(base);
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
      interceptedMethods.set(method.path, {
        operation,
        responseCodec: { serialize: method.responseSerialize, deserialize: method.responseDeserialize },
        decodeRequest: method.requestDeserialize,
        handle: (call) => handle(call, enter, toHttpError, onEnd),
      });
      rawDefinition[name] = { ...method, ...RAW_CODEC };
    }
    const handlers = Object.fromEntries(Object.keys(definition).map((name) => [name, unreachable]));
    server.addService(rawDefinition, handlers);
  }
  return server;
}

const asIs = (bytes: Buffer) => bytes;
/** Makes grpc-js pass the messages of a method as bytes. */
export const RAW_CODEC = {
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
};

/** grpc-js needs a handler for each method, but `InterceptedUnaryCall` never calls it. */
function unreachable(): void {
  throw new Error('a call bypassed the interceptor chain');
}

function handle(
  call: UnaryCall,
  enter: Next,
  toHttpError: ToHttpError,
  onEnd: (call: Call, error?: ApiError) => void,
): void {
  const fail = (thrown: unknown) => {
    const error = thrown instanceof ApiError ? thrown : apiError('INTERNAL', call, { cause: thrown });
    onEnd(call, error);
    const http = toHttpError({ metadata: call.metadata, path: call.operation.path }, error);
    if (http === undefined) call.end(toStatus(error, call.responseHeaders));
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
