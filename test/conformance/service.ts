/**
 * The service of connectconformance, on our platform: it answers what its request describes. The program that runs the
 * suites adds it to a copy of the repository; nothing of it is in the product. What the product's services can't do,
 * this one does to its own calls: read all headers of a request, send trailers, and fail with any code and details.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type DescMessage, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { Any } from '../../gen/google/protobuf/any.ts';
import type { Status } from '../../gen/google/rpc/status.ts';
import { BODY_TIMEOUT_MS, CALL_TIMEOUT_MS } from '../../src/platform/config/times.ts';
import { EDGE_HEADERS } from '../../src/platform/edge-headers.ts';
import { errorSaying } from '../../src/platform/errors.ts';
import { loadOperations, type Operation } from '../../src/platform/proto/operations.ts';
import { detailsHeader } from '../../src/platform/protocols/grpc/errors.ts';
import { parseTimeout } from '../../src/platform/protocols/grpc/grpc.ts';
import type { Call, HttpResponse, Protocol } from '../../src/platform/rpc/chain.ts';
import type { Implementation } from '../../src/platform/rpc/methods.ts';

const PACKAGE = 'connectrpc.conformance.v1';
const SERVICE = `${PACKAGE}.ConformanceService`;
/** Internal headers of the platform, and those of HTTP, are no metadata. */
const OWN = new RegExp(`^(:|${EDGE_HEADERS.edge}$|authorization$)`);
const ALL_HEADERS = 'x-conformance-headers';

export const CODES = Array.from({ length: 17 }, (_, code) => `CODE_${status[code]?.replace('LL', 'L')}`);

/** The deadlines of callers without one: Envoy's. */
const OF_EDGE_MS = [CALL_TIMEOUT_MS, BODY_TIMEOUT_MS + CALL_TIMEOUT_MS];

/** Stands for no message: the headers are sent, as the suite's own services send them, before the first one. */
const HEADERS = {};

interface Header {
  readonly name: string;
  readonly value?: readonly string[];
}
interface Failure {
  readonly code: string;
  readonly message?: string;
  readonly details?: readonly JsonValue[];
}
/** What a request says about its response, in the JSON of Protobuf. */
interface Definition {
  readonly responseHeaders?: readonly Header[];
  readonly responseTrailers?: readonly Header[];
  readonly responseDelayMs?: number;
  /** One for a unary method, several for a stream. */
  readonly responseData?: string | readonly string[];
  readonly error?: Failure;
}
interface Request {
  readonly responseDefinition?: Definition;
}

const { byPath, registry } = loadOperations();

export function conformanceService(): Implementation {
  const operations = [...byPath.values()].filter(({ path }) => path.startsWith(`/${SERVICE}/`));
  return operations.map((operation) => ({ codec: codecOf(operation), handler: handlerOf(operation) }));
}

export function codecOf({ path, output }: Operation) {
  return {
    path,
    responseSerialize: (message: unknown) => encode(output, message),
    responseDeserialize: (bytes: Uint8Array) => bytes,
  };
}

function encode(schema: DescMessage, message: unknown): Buffer {
  return Buffer.from(toBinary(schema, fromJson(schema, message as JsonValue, { registry })));
}

function handlerOf({ path, input, isStream }: Operation): Implementation[number]['handler'] {
  return (call) => {
    if (path.endsWith('/Unimplemented')) return answer(call, { error: { code: 'CODE_UNIMPLEMENTED' } });
    const request = toJson(input, call.request, { registry }) as Request & Record<string, JsonValue>;
    const requestInfo = {
      ...requestInfoOf(call),
      requests: [{ '@type': `type.googleapis.com/${input.typeName}`, ...request }],
    };
    const { responseDefinition: definition = {} } = request;
    for (const { name, value = [] } of definition.responseHeaders ?? []) {
      call.responseHeaders.set(name.toLowerCase(), value.join(', '));
    }
    return isStream ? stream(call, definition, requestInfo) : answer(call, definition, requestInfo);
  };
}

async function answer(call: Call, definition: Definition, requestInfo?: object): Promise<unknown> {
  const { responseData, responseDelayMs = 0, error, responseTrailers = [] } = definition;
  useTrailers(call, responseTrailers, error, requestInfo);
  await delay(responseDelayMs);
  if (error !== undefined) throw errorSaying('INTERNAL', error.message ?? '');
  return { payload: { data: responseData ?? '', requestInfo } };
}

async function* stream(call: Call, definition: Definition, requestInfo: object): AsyncIterable<unknown> {
  const { responseData = [], responseDelayMs = 0, error, responseTrailers = [] } = definition;
  const [first, ...others] = [responseData].flat();
  useTrailers(call, responseTrailers, error, first === undefined ? requestInfo : undefined);
  yield HEADERS;
  for (const [index, data] of (first === undefined ? [] : [first, ...others]).entries()) {
    await delay(responseDelayMs);
    yield { payload: index === 0 ? { data, requestInfo } : { data } };
  }
  if (error !== undefined) throw errorSaying('INTERNAL', error.message ?? '');
}

function requestInfoOf(call: Call): Readonly<Record<string, JsonValue>> {
  const headers = JSON.parse(call.header(ALL_HEADERS) ?? '{}') as Readonly<Record<string, string | readonly string[]>>;
  const requestHeaders = Object.entries(headers)
    .filter(([name]) => !OWN.test(name))
    .map(([name, value]) => ({ name, value: [value].flat().flatMap((one) => one.split(/, ?/)) }));
  const timeoutMs = Math.floor(parseTimeout(headers['grpc-timeout']?.toString()) ?? 0);
  return timeoutMs === Number.POSITIVE_INFINITY || OF_EDGE_MS.includes(timeoutMs)
    ? { requestHeaders }
    : { requestHeaders, timeoutMs: String(timeoutMs) };
}

/** Makes the call end with these trailers, and with this error if there is one, in the protocol of its caller. */
export function useTrailers(call: Call, trailers: readonly Header[], failure?: Failure, requestInfo?: object): void {
  const { protocol } = call;
  const more = Object.fromEntries(trailers.map(({ name, value = [] }) => [name.toLowerCase(), value.join(', ')]));
  const isConnect = protocol.name === 'Connect';
  const prefixed = Object.fromEntries(Object.entries(more).map(([name, value]) => [`trailer-${name}`, value]));
  const add = <R extends Pick<HttpResponse, 'headers' | 'trailers'>>(response: R): R =>
    isConnect
      ? { ...response, headers: { ...response.headers, ...prefixed } }
      : { ...response, trailers: { ...response.trailers, ...more } };
  const details = [...(failure?.details ?? [])];
  if (requestInfo !== undefined)
    details.push({ '@type': `type.googleapis.com/${PACKAGE}.ConformancePayload.RequestInfo`, ...requestInfo });
  const wrapped: Protocol = {
    ...protocol,
    render: (...args) => add(protocol.render(...args)),
    begin: (...args) => add(protocol.begin(...args)),
    piece: (method, message) => (message === HEADERS ? Buffer.of() : protocol.piece(method, message)),
    renderError(...[, error]) {
      if (failure === undefined || error.code !== 'INTERNAL') return protocol.renderError(call, error);
      const [code, { message }] = [CODES.indexOf(failure.code), error];
      const response = protocol.renderError(call, Object.assign(Object.create(error), { grpcStatus: code, message }));
      const packed = details.map((detail) => Any.decode(encode(AnySchema, detail)));
      return add(
        isConnect ? withConnectDetails(response, packed) : withDetails(response, { code, message, details: packed }),
      );
    },
  };
  Object.assign(call, { protocol: wrapped });
}

function withDetails(response: HttpResponse, status: Status): HttpResponse {
  return { ...response, trailers: { ...response.trailers, 'grpc-status-details-bin': detailsHeader(status) } };
}

function withConnectDetails(response: HttpResponse, details: readonly Any[]): HttpResponse {
  const body = JSON.stringify({
    ...JSON.parse(String(response.body)),
    details: details.map(({ typeUrl, value }) => ({
      type: typeUrl.slice(typeUrl.lastIndexOf('/') + 1),
      value: Buffer.from(value).toString('base64').replace(/=+$/, ''),
    })),
  });
  return { ...response, body, headers: { ...response.headers, 'content-length': String(Buffer.byteLength(body)) } };
}
