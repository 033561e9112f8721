import { status as Grpc } from '@grpc/grpc-js';
import test from 'ava';
import { Status as RpcStatus } from '../gen/google/rpc/status.ts';
import { CONNECT_STATUSES } from '../src/edge/connect-error.ts';
import { anyError, type ErrorCode } from '../src/error-table.ts';
import { type ApiError, errorSaying, invalidArgument, PLATFORM_ERRORS } from '../src/errors.ts';
import { entityTag } from '../src/rpc/entity-tags.ts';
import { toTrailers } from '../src/rpc/status.ts';
import { SHOP_ERRORS } from '../src/shop/errors.ts';
import { newCall } from './support/call.ts';

const LONG = 'x'.repeat(100_000);
/** A cut at any even position leaves half a surrogate pair. */
const LONG_EMOJI = `x${'😀'.repeat(50_000)}`;

/** The response to a REST caller. */
function restResponse(error: ApiError) {
  return httpError({ 'x-envoy-original-path': '/pets' }, error);
}

/** The response to a caller of the Connect protocol. */
function connectResponse(error: ApiError) {
  return httpError({ 'x-petstore-connect': '1' }, error);
}

/** The error as the protocol of the caller words it; undefined when that is gRPC. */
function httpError(metadata: Readonly<Record<string, string>>, error: ApiError, path = 'PetService/ListPets') {
  const call = newCall(path, { metadata });
  const response = call.protocol.fail(call, error);
  return response.trailers === undefined ? response : undefined;
}

const CODES = [...Object.keys(PLATFORM_ERRORS), ...Object.keys(SHOP_ERRORS)] as ErrorCode[];
const any = anyError as (code: ErrorCode, fields: object, options: { readonly cause: Error }) => ApiError;

/** Returns every error, with the longest numbers, and with `text` wherever a caller's text may appear. */
function everyError(text: string): readonly ApiError[] {
  const violations = Array.from({ length: 20 }, () => ({ path: text, name: text, description: text }));
  const [id, most] = [-(2n ** 63n), 2 ** 31 - 1];
  const known = {
    ...{ isSuspended: false, seen: '', window: 'minute', allow: 'GET, HEAD', requestId: text },
    ...{ wanted: most, inStock: most, limit: most, retryAfterSeconds: most, after: 1n, oldest: 2n ** 63n - 1n },
    etag: entityTag(Buffer.from(text)),
  };
  const get = (fields: object, name: string) => Reflect.get(fields, name) ?? (name.endsWith('Id') ? id : text);
  const fields = new Proxy(known, { get });
  const options = { cause: new Error(text) };
  return CODES.map((code) => (code === 'INVALID_ARGUMENT' ? invalidArgument(violations) : any(code, fields, options)));
}

/** The codes of docs/guarantees.md, Errors, each with the canonical gRPC status that fits. */
const CONTRACT = {
  MALFORMED_BODY: [400, Grpc.INVALID_ARGUMENT],
  INVALID_ARGUMENT: [400, Grpc.INVALID_ARGUMENT],
  UNSUPPORTED_CONTENT_TYPE: [400, Grpc.INVALID_ARGUMENT],
  UNKNOWN_CATEGORY: [400, Grpc.INVALID_ARGUMENT],
  UNKNOWN_PET: [400, Grpc.INVALID_ARGUMENT],
  API_KEY_MISSING: [401, Grpc.UNAUTHENTICATED],
  API_KEY_INVALID: [401, Grpc.UNAUTHENTICATED],
  PET_NOT_FOUND: [404, Grpc.NOT_FOUND],
  CATEGORY_NOT_FOUND: [404, Grpc.NOT_FOUND],
  ORDER_NOT_FOUND: [404, Grpc.NOT_FOUND],
  INVENTORY_NOT_FOUND: [404, Grpc.NOT_FOUND],
  ROUTE_NOT_FOUND: [404, Grpc.UNIMPLEMENTED],
  METHOD_NOT_ALLOWED: [405, Grpc.UNIMPLEMENTED],
  CATEGORY_IN_USE: [409, Grpc.FAILED_PRECONDITION],
  PET_IN_USE: [409, Grpc.FAILED_PRECONDITION],
  INSUFFICIENT_STOCK: [409, Grpc.FAILED_PRECONDITION],
  ORDER_COMPLETE: [409, Grpc.FAILED_PRECONDITION],
  PRECONDITION_FAILED: [412, Grpc.ABORTED],
  IDEMPOTENCY_KEY_REUSED: [409, Grpc.ALREADY_EXISTS],
  REQUEST_TIMEOUT: [408, Grpc.DEADLINE_EXCEEDED],
  BODY_TOO_LARGE: [413, Grpc.RESOURCE_EXHAUSTED],
  RATE_LIMITED: [429, Grpc.RESOURCE_EXHAUSTED],
  EVENTS_EXPIRED: [410, Grpc.OUT_OF_RANGE],
  TOO_MANY_STREAMS: [429, Grpc.RESOURCE_EXHAUSTED],
  API_KEY_BANNED: [429, Grpc.RESOURCE_EXHAUSTED],
  INTERNAL: [500, Grpc.INTERNAL],
  UNAVAILABLE: [503, Grpc.UNAVAILABLE],
  DEADLINE_EXCEEDED: [504, Grpc.DEADLINE_EXCEEDED],
  OPERATOR_KEY_INVALID: [401, Grpc.UNAUTHENTICATED],
  BAN_NOT_ENDED: [503, Grpc.UNAVAILABLE],
  ACCOUNT_NOT_FOUND: [404, Grpc.NOT_FOUND],
  API_KEY_NOT_FOUND: [404, Grpc.NOT_FOUND],
} as const satisfies Partial<Record<ErrorCode, readonly [number, Grpc]>>;

test('Error table - each code has the HTTP status of the contract and the gRPC status that fits', (t) => {
  const pairs = new Set(Object.values(CONTRACT).map(String));
  for (const { code, httpStatus, grpcStatus } of everyError('x')) {
    const contract: readonly number[] | undefined = CONTRACT[code as keyof typeof CONTRACT];
    if (contract !== undefined) t.deepEqual([httpStatus, grpcStatus], [...contract], code);
    else
      t.true(pairs.has(`${httpStatus},${grpcStatus}`), `${code}: other codes with ${httpStatus} have another status`);
  }
  t.true(Object.keys(CONTRACT).every((code) => CODES.some((one) => one === code)));
});

test('Error table - every message is one non-empty line', (t) => {
  for (const error of everyError('x')) t.regex(error.message, /^[^\n\r]{10,}$/);
});

test('Error table - a message gives the numbers and says what to do', (t) => {
  const messages = [
    [anyError('INSUFFICIENT_STOCK', { petId: 7n, wanted: 12, inStock: 3 }), /\b7\b.*\b12\b.*\b3\b/],
    [anyError('RATE_LIMITED', { limit: 60, window: 'minute', retryAfterSeconds: 9 }), /\b60\b.*minute.*\b9 s\b/],
    [anyError('CATEGORY_IN_USE', { categoryId: 7n }), /\b7\b.*move or delete/],
    [anyError('API_KEY_MISSING', { seen: '' }), /Authorization: Bearer/],
  ] as const;
  for (const [{ message }, pattern] of messages) t.regex(message, pattern);
});

test('Error table - a 401 carries the challenge of RFC 6750', (t) => {
  for (const error of everyError('x')) {
    t.is(error.headers['www-authenticate'], error.httpStatus === 401 ? 'Bearer' : undefined, error.code);
  }
});

test('Error table - UNAVAILABLE says when to retry', (t) => {
  t.is(anyError('UNAVAILABLE').retryAfterSeconds, 1);
});

test('Error messages - are short, and well-formed when truncated', (t) => {
  for (const text of [LONG, LONG_EMOJI, LONG_EMOJI.slice(1)]) {
    for (const { code, message, violations } of everyError(text)) {
      t.true(message.length < 2_000, `${code}: ${message.length}`);
      t.true(message.isWellFormed(), code);
      for (const { path, name, description } of violations) {
        for (const part of [path, name, description]) t.true(part.length <= 201 && part.isWellFormed(), code);
      }
    }
  }
});

test('Error messages - quote short texts of a caller in full', (t) => {
  t.is(anyError('ROUTE_NOT_FOUND', { method: 'GET', path: '/猫' }).message, 'nothing answers to GET /猫');
  const violation = { path: 'pet.name', name: 'name', description: 'must be 1 to 200 characters after trimming' };
  t.is(invalidArgument([violation, violation]).message, Array(2).fill(`name: ${violation.description}`).join('; '));
});

test('Error messages - the cause is neither in the message nor sent', (t) => {
  const error = anyError('INTERNAL', { requestId: 'request-1' }, { cause: new Error('secret') });
  t.notRegex(error.message, /secret/);
  t.notRegex(JSON.stringify(restResponse(error)), /secret/);
});

/** Node sends headers of 64 KiB. A gRPC message is percent-encoded, a binary value base64. */
test('Error status - fits into headers, whatever a caller sent', (t) => {
  for (const text of [LONG, LONG_EMOJI, '猫'.repeat(50_000), '\n'.repeat(100_000), '\0'.repeat(100_000)]) {
    for (const error of everyError(text)) {
      const bytes = Object.entries(toTrailers(error)).flat().join('').length;
      t.true(bytes < 58_000, `${error.code}: ${bytes}`);
    }
  }
});

test('Error response - for REST it has the shape of the contract, and the status of the code', (t) => {
  for (const error of everyError('Grüße, 😀\n"')) {
    const { status, headers, body = '' } = restResponse(error) ?? {};
    t.deepEqual(JSON.parse(String(body)), { code: error.code, message: error.message, status: error.httpStatus });
    t.is(status, error.httpStatus);
    t.is(headers?.['content-type'], 'application/json');
    t.is(headers?.['content-length'], String(Buffer.byteLength(body)));
  }
});

test('Error response - for Connect it has the shape of the protocol, with the details of gRPC', (t) => {
  for (const error of everyError('Grüße, 😀\n"')) {
    const { headers, body } = connectResponse(error) ?? {};
    const { code, message, details } = JSON.parse(String(body));
    t.deepEqual([code, message], [Grpc[error.grpcStatus].toLowerCase(), error.message]);
    const encoded = toTrailers(error)['grpc-status-details-bin'] ?? '';
    const decoded = RpcStatus.decode(Buffer.from(encoded, 'base64')).details.map(({ typeUrl, value }) => ({
      type: typeUrl.replace('type.googleapis.com/', ''),
      value: Buffer.from(value).toString('base64').replaceAll('=', ''),
    }));
    t.deepEqual(details, decoded);
    t.is(headers?.['content-type'], 'application/json');
  }
});

test('Error response - has the headers of the error, and Retry-After', (t) => {
  for (const toResponse of [restResponse, connectResponse]) {
    t.is(toResponse(anyError('API_KEY_MISSING', { seen: '' }))?.headers['www-authenticate'], 'Bearer');
    t.is(toResponse(anyError('UNAVAILABLE'))?.headers['retry-after'], '1');
    t.is(toResponse(anyError('API_KEY_MISSING', { seen: '' }))?.headers['retry-after'], undefined);
  }
});

test('Error response - for HEAD has no body, but its length', (t) => {
  const error = anyError('PET_NOT_FOUND', { petId: 7n });
  const get = { 'x-envoy-original-path': '/pets/7' };
  const response = httpError({ ...get, 'x-envoy-original-method': 'HEAD' }, error);
  t.deepEqual([response?.status, response?.body], [404, '']);
  t.is(response?.headers['x-petstore-length'], httpError(get, error)?.headers['content-length']);
  t.is(response?.headers['content-length'], undefined);
});

/** https://connectrpc.com/docs/protocol, "Error codes". */
const CONNECT_CODES: readonly (readonly [Grpc, code: string, httpStatus: number])[] = [
  [Grpc.CANCELLED, 'canceled', 499],
  [Grpc.UNKNOWN, 'unknown', 500],
  [Grpc.INVALID_ARGUMENT, 'invalid_argument', 400],
  [Grpc.DEADLINE_EXCEEDED, 'deadline_exceeded', 504],
  [Grpc.NOT_FOUND, 'not_found', 404],
  [Grpc.ALREADY_EXISTS, 'already_exists', 409],
  [Grpc.PERMISSION_DENIED, 'permission_denied', 403],
  [Grpc.RESOURCE_EXHAUSTED, 'resource_exhausted', 429],
  [Grpc.FAILED_PRECONDITION, 'failed_precondition', 400],
  [Grpc.ABORTED, 'aborted', 409],
  [Grpc.OUT_OF_RANGE, 'out_of_range', 400],
  [Grpc.UNIMPLEMENTED, 'unimplemented', 501],
  [Grpc.INTERNAL, 'internal', 500],
  [Grpc.UNAVAILABLE, 'unavailable', 503],
  [Grpc.DATA_LOSS, 'data_loss', 500],
  [Grpc.UNAUTHENTICATED, 'unauthenticated', 401],
];

test('Error response - each gRPC code has its name and HTTP status of Connect', (t) => {
  t.is(CONNECT_CODES.length, Object.keys(CONNECT_STATUSES).length);
  for (const [grpcStatus, code, httpStatus] of CONNECT_CODES) {
    const error = errorSaying('INTERNAL', 'text', { grpcStatus });
    const response = connectResponse(error);
    t.is(JSON.parse(String(response?.body)).code, code);
    t.is(response?.status, httpStatus, code);
  }
});

test('Error response - what Envoy asks for is the error of REST', (t) => {
  const error = anyError('API_KEY_MISSING', { seen: '' });
  t.deepEqual(httpError({}, error, '/petstore.edge.v1.EdgeService/Judge'), restResponse(error));
});

test('Error response - a gRPC caller gets a status instead', (t) => {
  for (const error of everyError('x')) t.is(httpError({}, error), undefined);
});

test('Error status - has code and message, the headers of the error, and when to retry', (t) => {
  const error = anyError('API_KEY_INVALID', { isSuspended: false });
  t.like(toTrailers(error), { 'grpc-status': '16', 'www-authenticate': 'Bearer', 'retry-after': undefined });
  t.is(decodeURI(toTrailers(error)['grpc-message'] ?? ''), error.message);
  const retry = { 'grpc-status': '14', 'retry-after': '1', 'grpc-retry-pushback-ms': '1000' };
  t.like(toTrailers(anyError('UNAVAILABLE')), retry);
});
