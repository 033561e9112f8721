/** A call as interceptors see it, without a server. */
import { Metadata, type MethodDefinition } from '@grpc/grpc-js';
import { CategoryServiceService } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService } from '../../gen/petstore/v1/pets.ts';
import { apiError } from '../../src/errors.ts';
import type { Call, Interceptor, Response, ResponseCodec } from '../../src/interceptors/chain.ts';
import { loadOperations, type Operation } from '../../src/proto/operations.ts';

const { byPath, registry } = loadOperations();

/** The messages of the proto files, with their rules. */
export const protoRegistry = registry;

/** The operation at a gRPC path, `PetService/GetPet` for one of petstore.v1. */
function operation(path: string): Operation {
  const found = byPath.get(path) ?? byPath.get(`/petstore.v1.${path}`);
  if (found === undefined) throw new Error(`there is no operation ${path}`);
  return found;
}

const services = [CategoryServiceService, InventoryServiceService, OrderServiceService, PetServiceService];
const methods = new Map<string, MethodDefinition<never, never>>(
  services.flatMap((service) => Object.values(service).map((method) => [method.path, method as never])),
);

function decode(path: string, bytes: Buffer): unknown {
  try {
    return methods.get(path)?.requestDeserialize(bytes);
  } catch {
    throw apiError('MALFORMED_BODY', { detail: 'it is not a message' });
  }
}

/** Encodes responses as JSON. */
export const jsonCodec: ResponseCodec = {
  serialize: (message) => Buffer.from(JSON.stringify(message)),
  deserialize: (bytes) => JSON.parse(bytes.toString()),
};

interface CallOptions {
  readonly bytes?: Uint8Array;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly requestId?: string;
}

export function newCall(path: string, { bytes = new Uint8Array(), metadata = {}, requestId }: CallOptions = {}): Call {
  const received = new Metadata();
  for (const [name, value] of Object.entries(metadata)) received.set(name, value);
  return {
    operation: operation(path),
    responseCodec: jsonCodec,
    metadata: received,
    receive: async () => undefined,
    requestBytes: Buffer.from(bytes),
    get request() {
      return decode(this.operation.path, this.requestBytes);
    },
    peer: () => '127.0.0.1:40000',
    requestId: requestId ?? 'request-1',
    isCancelled: () => false,
    isLate: () => false,
    responseHeaders: new Map(),
  };
}

/** A response for tests to which its content does not matter. */
export const RESPONSE: Response = { message: {}, bytes: Buffer.of() };

/** The end of a chain: returns `response`, and records the calls that reach it. */
export function handler(response = RESPONSE) {
  const calls: Call[] = [];
  const next = async (call: Call) => {
    calls.push(call);
    return response;
  };
  return { calls, next };
}

/** An interceptor that does nothing, in the place of one that others require. */
export function passThrough(name: string): Interceptor {
  return { name, after: {}, intercept: (call, next) => next(call) };
}
