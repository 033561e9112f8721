/**
 * Between grpc-js and the chain: makes a Call of what comes off the wire, and an answer of what the chain resolves
 * or rejects with. The request stays bytes until the chain has let it through.
 *
 * An error goes out as "trailers only", so that all its metadata reach a REST caller as headers.
 */
import { randomUUID } from 'node:crypto';
import {
  Metadata,
  type MethodDefinition,
  type Server,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { ORIGINAL_PATH } from '../edge/rest-request.ts';
import { ApiError, apiError } from '../errors.ts';
import { type Call, chain, type Interceptor } from '../interceptors/chain.ts';
import type { Operation } from '../operations.ts';
import type { Context } from '../services/service.ts';
import { toStatus } from './status.ts';

/** Envoy's own questions: their answers are for REST callers too. */
const EDGE = '/petstore.edge.v1.';

type Method = (request: never, context: Context) => Promise<unknown>;

/** Adds a service whose every method passes the interceptors. */
export function addService(
  server: Server,
  definition: ServiceDefinition,
  methods: Readonly<Record<string, Method>>,
  interceptors: readonly Interceptor[],
  operations: ReadonlyMap<string, Operation>,
): void {
  const handlers: Record<string, UntypedHandleCall> = {};
  const rawDefinition: Record<string, MethodDefinition<Buffer, unknown>> = {};
  for (const [name, method] of Object.entries(definition)) {
    const operation = operations.get(method.path);
    const run = methods[name];
    if (operation === undefined || run === undefined) throw new Error(`nothing implements ${method.path}`);
    rawDefinition[name] = { ...method, requestDeserialize: (bytes) => bytes };
    const enter = chain(interceptors, async (call) =>
      run(decode(method.requestDeserialize, call.requestBytes) as never, call),
    );
    handlers[name] = (unary: ServerUnaryCall<Buffer, unknown>, respond: sendUnaryData<unknown>) => {
      const call = toCall(unary, operation);
      enter(call).then(
        (response) => {
          if (call.responseHeaders.size > 0) unary.sendMetadata(toMetadata(call.responseHeaders));
          respond(null, response);
        },
        (error: unknown) => {
          const known = error instanceof ApiError ? error : apiError('INTERNAL', call, { cause: error });
          respond(toStatus(known, call.responseHeaders, isRest(call)));
        },
      );
    };
  }
  server.addService(rawDefinition, handlers);
}

function decode(deserialize: (bytes: Buffer) => unknown, bytes: Buffer): unknown {
  try {
    return deserialize(bytes);
  } catch (error) {
    throw apiError('MALFORMED_BODY', { detail: error instanceof Error ? error.message : String(error) });
  }
}

function isRest({ metadata, operation }: Call): boolean {
  return operation.path.startsWith(EDGE) || metadata.get(ORIGINAL_PATH).length > 0;
}

function toMetadata(headers: ReadonlyMap<string, string>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of headers) metadata.set(name, value);
  return metadata;
}

function toCall(unary: ServerUnaryCall<Buffer, unknown>, operation: Operation): Call {
  const [requestId] = unary.metadata.get('x-request-id');
  return {
    operation,
    metadata: unary.metadata,
    requestBytes: unary.request,
    peer: () => unary.getPeer(),
    requestId: typeof requestId === 'string' ? requestId : randomUUID(),
    isWanted: () => !unary.cancelled && Date.now() < Number(unary.getDeadline()),
    responseHeaders: new Map(),
  };
}
