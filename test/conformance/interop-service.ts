/** The service of grpc-go's interoperability tests (grpc.testing.TestService), on our platform, in a copy of it. */
import { setTimeout as delay } from 'node:timers/promises';
import { fromBinary, type JsonValue, toJson } from '@bufbuild/protobuf';
import { errorSaying } from '../../src/platform/errors.ts';
import { loadOperations, type Operation } from '../../src/platform/proto/operations.ts';
import type { Call } from '../../src/platform/rpc/chain.ts';
import type { Implementation } from '../../src/platform/rpc/methods.ts';
import { CODES, codecOf, useTrailers } from './service.ts';

export const INTEROP_SERVICE = 'grpc.testing.TestService';
const ECHOED_HEADER = 'x-grpc-test-echo-initial';
const ECHOED_TRAILER = 'x-grpc-test-echo-trailing-bin';

/** A request of any method, in the JSON of Protobuf. */
interface Request {
  readonly payload?: { readonly body?: string };
  readonly responseStatus?: { readonly code: number; readonly message?: string };
  readonly responseSize?: number;
  readonly responseParameters?: readonly { readonly size?: number; readonly intervalUs?: number }[];
}

export function interopService(): Implementation {
  const operations = [...loadOperations().byPath.values()].filter(({ path }) =>
    path.startsWith(`/${INTEROP_SERVICE}/`),
  );
  return operations.map((operation) => ({ codec: codecOf(operation), handler: handlerOf(operation) }));
}

function handlerOf({ path, input, isStream }: Operation): Implementation[number]['handler'] {
  return (call) => {
    const header = call.header(ECHOED_HEADER);
    if (header !== undefined) call.responseHeaders.set(ECHOED_HEADER, header);
    const trailer = call.header(ECHOED_TRAILER);
    useTrailers(call, trailer === undefined ? [] : [{ name: ECHOED_TRAILER, value: [trailer] }]);
    const requests = requestsOf(call, input);
    if (isStream) return stream(call, requests);
    return path.endsWith('/StreamingInputCall') ? sum(requests) : answer(call, requests);
  };
}

async function* requestsOf(call: Call, input: Operation['input']): AsyncIterable<Request> {
  for await (const bytes of call.messages()) {
    const request = toJson(input, fromBinary(input, bytes)) as Request;
    const { code = 0, message = '' } = request.responseStatus ?? {};
    if (code !== 0) {
      useTrailers(call, [], { code: CODES[code] ?? '', message });
      throw errorSaying('INTERNAL', message);
    }
    yield request;
  }
}

async function answer(call: Call, requests: AsyncIterable<Request>): Promise<JsonValue> {
  for await (const { responseSize } of requests) {
    const isSized = call.operation.path.endsWith('/UnaryCall');
    return isSized ? { ...payload(responseSize), serverId: 'petstore' } : {};
  }
  throw errorSaying('INTERNAL', 'there is no message');
}

async function sum(requests: AsyncIterable<Request>): Promise<JsonValue> {
  let aggregatedPayloadSize = 0;
  for await (const { payload } of requests) aggregatedPayloadSize += Buffer.from(payload?.body ?? '', 'base64').length;
  return { aggregatedPayloadSize };
}

async function* stream(call: Call, requests: AsyncIterable<Request>): AsyncIterable<JsonValue> {
  for await (const { responseParameters = [] } of requests) {
    for (const { size, intervalUs = 0 } of responseParameters) {
      await delay(intervalUs / 1_000);
      if (call.isCancelled()) return;
      yield payload(size);
    }
  }
}

function payload(size = 0) {
  return { payload: { body: Buffer.alloc(size).toString('base64') } };
}
