/** A call as interceptors see it, without a server. */
import type { IncomingHttpHeaders } from 'node:http2';
import { Metadata, status as Status } from '@grpc/grpc-js';
import { origins } from '../../../src/platform/edge/origins.ts';
import type { ApiError } from '../../../src/platform/errors.ts';
import { loadOperations } from '../../../src/platform/proto/operations.ts';
import { readRequest } from '../../../src/platform/proto/request.ts';
import { toAccountId, toKeyId } from '../../../src/platform/rpc/caller.ts';
import type { Call, Codec, End, Next, Response, UnaryResponse } from '../../../src/platform/rpc/chain.ts';
import { toApiError } from '../../../src/platform/rpc/errors.ts';
import type { Context } from '../../../src/platform/rpc/methods.ts';
import type { Settings } from './process.ts';

const { byPath, registry } = loadOperations();

const { originOf } = origins([...byPath.values()], undefined);

export const protoRegistry = registry;

const jsonCodec: Codec = {
  responseSerialize: (message) => Buffer.from(JSON.stringify(message)),
  responseDeserialize: (bytes) => JSON.parse(bytes.toString()),
};

/** The context of a call for a service without a server. */
export const CONTEXT: Context = {
  isCancelled: () => false,
  caller: { accountId: toAccountId(1n), keyId: toKeyId(1n), permission: 'write' },
};

export interface TestCall extends Call {
  readonly metadata: Metadata;
  /** Tells those who listen that nothing of the call is left. */
  close(): void;
}

/** A call of the operation at a gRPC path, `PetService/GetPet` for one of petstore.v1. */
export function newCall(
  path: string,
  { bytes = new Uint8Array() as Uint8Array, metadata = {} as Settings, requestId = 'request-1' } = {},
): TestCall {
  const received = new Metadata();
  for (const [name, value] of Object.entries(metadata)) received.set(name, value);
  const operation = byPath.get(path) ?? byPath.get(`/petstore.v1.${path}`);
  if (operation === undefined) throw new Error(`there is no operation ${path}`);
  const onClose: (() => void)[] = [];
  // Only through Envoy do callers speak anything but gRPC.
  const isByEdge =
    operation.path.startsWith('/apiplatform.edge.v1.') ||
    ['x-envoy-original-path', 'x-petstore-connect'].some((name) => received.get(name).length > 0);
  return {
    operation,
    header: (name) => (received.get(name).length === 0 ? undefined : received.get(name).join()),
    ...originOf(received.toHttp2Headers() as IncomingHttpHeaders, operation, isByEdge, () => '127.0.0.1'),
    metadata: received,
    codec: jsonCodec,
    receive: async () => undefined,
    boundMessages: () => undefined,
    async *messages() {
      yield Buffer.from(bytes);
    },
    get request() {
      return readRequest(operation, bytes);
    },
    requestId,
    isCancelled: () => false,
    onClose: (listener) => onClose.push(listener),
    responseHeaders: new Map(),
    close() {
      for (const listener of onClose) listener();
    },
  };
}

/** Passes the call through a chain. Resolves with how it ended, as the server tells observers. */
export async function run(call: Call, enter: Next): Promise<End> {
  let error: ApiError | undefined;
  try {
    await enter(call);
  } catch (thrown) {
    error = toApiError(thrown, call.requestId);
  }
  return { code: error?.grpcStatus ?? Status.OK, error, durationMs: 1 };
}

/** A response for tests to which its content does not matter. */
export const RESPONSE: UnaryResponse = { message: {}, bytes: Buffer.of() };

/** The end of a chain: returns `response`, and records the calls that reach it. */
export function handler(response: Response = RESPONSE) {
  const calls: Call[] = [];
  const next = async (call: Call) => {
    calls.push(call);
    return response;
  };
  return { calls, next };
}
