/**
 * The gRPC server: passes each call to the chain of its method as soon as its headers have arrived, and answers with
 * what the chain returns. grpc-js speaks HTTP/2 and reads messages; answer.ts writes.
 *
 * Failure: whatever goes wrong while a call runs, or while its response is encoded or sent, ends that call as an error
 * of the table, and is reported as that error to those who listen to the end of the call.
 */
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type Metadata,
  type MethodDefinition,
  Server,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
} from '@grpc/grpc-js';
import { MAX_BODY_BYTES } from '../config/constants.ts';
import { type ApiError, apiError } from '../errors.ts';
import {
  type Call,
  chain,
  type Interceptor,
  type Next,
  type Response,
  type StreamResponse,
  streamChain,
} from '../interceptors/chain.ts';
import { toApiError } from '../interceptors/error-mapping.ts';
import { type Operation, type Operations, unknownOperation } from '../proto/operations.ts';
import type { Service } from '../services/service.ts';
import { Answer, type OpenCall } from './answer.ts';
import { type Connection, IncomingCall, type Method, type Origin } from './call.ts';
import type { OpenCalls } from './open-calls.ts';
import { interceptEverything } from './private-parts.ts';

/** A method of the server, with its chain. */
export interface ServedMethod extends Method {
  readonly enter: Next<Response> | Next<StreamResponse>;
}

/** The definitions of the methods of a generated service interface. */
type Definition<S> = {
  readonly [M in keyof S as string extends M ? never : M]: S[M] extends handleUnaryCall<infer Request, infer Response>
    ? MethodDefinition<Request, Response>
    : S[M] extends handleServerStreamingCall<infer Request, infer Response>
      ? MethodDefinition<Request, Response>
      : never;
};

/** Any method of any service. The parameters of methods, unlike those of functions, are compared in both directions. */
interface AnyDefinition {
  readonly path: string;
  readonly responseStream: boolean;
  requestDeserialize(bytes: Buffer): unknown;
  responseSerialize(message: unknown): Buffer;
  responseDeserialize(bytes: Buffer): unknown;
}
interface AnyHandlers {
  readonly [name: string]: { call(request: unknown, call: Call): Promise<unknown> | AsyncIterable<unknown> }['call'];
}

/**
 * Joins a service's definition, its handlers, and the interceptors in front of them.
 *
 * @throws Error when a method has no handler, or the interceptors are in a wrong order.
 */
export function serve<S>(
  { byPath }: Pick<Operations, 'byPath'>,
  definition: Definition<S> & Readonly<Record<string, AnyDefinition>>,
  handlers: Service<S, Call> & AnyHandlers,
  interceptors: readonly Interceptor[],
): ServedMethod[] {
  const definitions: Readonly<Record<string, AnyDefinition>> = definition;
  const functions: AnyHandlers = handlers;
  return Object.entries(definitions).map(([name, method]) => {
    const operation = byPath.get(method.path);
    const handler = functions[name];
    if (operation === undefined || handler === undefined) throw new Error(`nothing implements ${method.path}`);
    return served(operation, method, handler, interceptors);
  });
}

function served(
  operation: Operation,
  definition: AnyDefinition,
  handler: AnyHandlers[string],
  interceptors: readonly Interceptor[],
): ServedMethod {
  const responseCodec = { serialize: definition.responseSerialize, deserialize: definition.responseDeserialize };
  const method = { operation, responseCodec, decodeRequest: definition.requestDeserialize };
  if (definition.responseStream) {
    const enter = streamChain(interceptors, async (call) => ({
      messages: handler(call.request, call) as AsyncIterable<unknown>,
    }));
    return { ...method, enter };
  }
  const enter = chain(interceptors, async (call) => new LazyResponse(await handler(call.request, call), responseCodec));
  return { ...method, enter };
}

/** A method whose request is a stream too. Its messages are bytes, and its handler decodes them. */
export function serveRaw(
  { byPath }: Pick<Operations, 'byPath'>,
  path: string,
  handler: (call: Call) => AsyncIterable<Buffer>,
  interceptors: readonly Interceptor[],
): ServedMethod {
  const operation = byPath.get(path);
  if (operation === undefined) throw new Error(`the proto files have no ${path}`);
  const enter = streamChain(interceptors, async (call) => ({ messages: handler(call) }));
  return { operation, responseCodec: RAW, decodeRequest: (bytes) => bytes, enter };
}

const RAW = { serialize: (message: unknown) => message as Buffer, deserialize: (bytes: Buffer) => bytes };

/** Encodes the message when its bytes are needed: a list over REST never needs them. */
class LazyResponse implements Response {
  readonly message: unknown;
  readonly #codec: Method['responseCodec'];
  #bytes: Buffer | undefined;

  constructor(message: unknown, codec: Method['responseCodec']) {
    this.message = message;
    this.#codec = codec;
  }

  get bytes(): Buffer {
    this.#bytes ??= this.#codec.serialize(this.message);
    return this.#bytes;
  }
}

export interface GrpcServerOptions {
  readonly methods: readonly ServedMethod[];
  /** The interceptors of calls of a method that does not exist: its caller is judged like any other. */
  readonly forUnknown: readonly Interceptor[];
  readonly operations: Operations;
  /** Finds out from the headers of a call where it comes from, and how its caller speaks. */
  readonly originOf: (metadata: Metadata, path: string, connection: Connection) => Origin;
  readonly openCalls: OpenCalls;
  /** Called just before each call is answered. It may add response headers. */
  readonly beforeAnswer?: (call: Call, error?: ApiError) => void;
}

/** @throws Error when the proto files have a method that nothing serves. */
export function createGrpcServer(options: GrpcServerOptions): Server {
  const { methods, forUnknown, operations, originOf, openCalls, beforeAnswer = () => undefined } = options;
  const byPath = new Map(methods.map((method) => [method.operation.path, method]));
  for (const path of operations.byPath.keys()) if (!byPath.has(path)) throw new Error(`nothing serves ${path}`);
  const unknown = unknownMethod(operations, forUnknown);
  const server = new Server({
    'grpc.max_receive_message_length': MAX_BODY_BYTES,
    interceptors: [
      ({ path }, base) =>
        new InterceptedCall(base, (answer, metadata) => {
          const method = byPath.get(path) ?? unknown(path);
          const call = new IncomingCall(answer, method, originOf(metadata, path, answer), beforeAnswer);
          openCalls.add(call);
          void run(call, method.enter);
          return call;
        }),
    ],
  });
  interceptEverything(server);
  return server;
}

/** Replaces grpc-js's own handling of a call. */
class InterceptedCall extends ServerInterceptingCall {
  readonly #base: ServerInterceptingCallInterface;
  readonly #open: OpenCall;

  constructor(base: ServerInterceptingCallInterface, open: OpenCall) {
    super(base);
    this.#base = base;
    this.#open = open;
  }

  override start(): void {
    new Answer(this.#base).start(this.#open);
  }
}

/** Runs a call to its end. Never rejects. */
async function run(call: IncomingCall, enter: ServedMethod['enter']): Promise<void> {
  let error: ApiError | undefined;
  try {
    await call.respond(await enter(call));
  } catch (thrown) {
    error = toApiError(thrown, call.requestId);
    call.fail(error);
  }
  call.end(error);
}

function unknownMethod(operations: Operations, interceptors: readonly Interceptor[]): (path: string) => ServedMethod {
  const operation = unknownOperation(operations);
  return (path) => ({
    operation,
    responseCodec: RAW,
    decodeRequest: (bytes) => bytes,
    enter: chain(interceptors, async () => {
      throw apiError('ROUTE_NOT_FOUND', { method: 'POST', path });
    }),
  });
}
