import { status as Grpc } from '@grpc/grpc-js';
import test from 'ava';
import { Status as RpcStatus } from '../gen/google/rpc/status.ts';
import { anyError, type ErrorCode } from '../src/error-table.ts';
import { type ApiError, invalidArgument, PLATFORM_ERRORS } from '../src/platform/errors.ts';
import { entityTag } from '../src/platform/rpc/entity-tags.ts';
import { toTrailers } from '../src/platform/rpc/status.ts';
import { SHOP_ERRORS } from '../src/shop/errors.ts';
import { newCall } from './support/service/call.ts';

/** A cut at any even position leaves half a surrogate pair. */
const LONG_EMOJI = `x${'😀'.repeat(50_000)}`;

/** The error as the protocol of the caller words it; undefined when that is gRPC. */
function httpError(metadata: Readonly<Record<string, string>>, error: ApiError, path = 'PetService/ListPets') {
  const call = newCall(path, { metadata });
  const { trailers, ...response } = call.protocol.fail(call, error);
  return trailers === undefined ? response : undefined;
}

const restResponse = (error: ApiError) => httpError({ 'x-envoy-original-path': '/pets' }, error);
const connectResponse = (error: ApiError) => httpError({ 'x-petstore-connect': '1' }, error);

const CODES = [...Object.keys(PLATFORM_ERRORS), ...Object.keys(SHOP_ERRORS)] as ErrorCode[];
const any = anyError as (code: ErrorCode, fields: object, options: { readonly cause: Error }) => ApiError;

/** Returns every error, with the longest numbers, and with `text` wherever a caller's text may appear. */
function everyError(text: string): readonly ApiError[] {
  const violations = Array.from({ length: 20 }, () => ({ path: text, name: text, description: text }));
  const [id, most] = [-(2n ** 63n), 2 ** 31 - 1];
  const known = {
    ...{ isSuspended: false, window: 'minute', allow: 'GET, HEAD', requestId: text },
    ...{ wanted: most, inStock: most, limit: most, retryAfterSeconds: most, after: 1n, oldest: 2n ** 63n - 1n },
    etag: entityTag(Buffer.from(text)),
  };
  const get = (fields: object, name: string) => Reflect.get(fields, name) ?? (name.endsWith('Id') ? id : text);
  const fields = new Proxy(known, { get });
  const options = { cause: new Error(text) };
  return CODES.map((code) => (code === 'INVALID_ARGUMENT' ? invalidArgument(violations) : any(code, fields, options)));
}

/** The codes of docs/guarantees.md, Errors, by HTTP status and the canonical gRPC status that fits. */
const CONTRACT: Readonly<Record<string, readonly ErrorCode[]>> = {
  '400 INVALID_ARGUMENT': [
    ...(['MALFORMED_BODY', 'INVALID_ARGUMENT', 'UNSUPPORTED_CONTENT_TYPE', 'UNKNOWN_CATEGORY', 'UNKNOWN_PET'] as const),
    'EVENT_NOT_REACHED',
  ],
  '401 UNAUTHENTICATED': ['API_KEY_MISSING', 'API_KEY_INVALID', 'OPERATOR_KEY_INVALID'],
  '404 NOT_FOUND': [
    ...(['PET_NOT_FOUND', 'CATEGORY_NOT_FOUND', 'ORDER_NOT_FOUND', 'INVENTORY_NOT_FOUND'] as const),
    ...(['ACCOUNT_NOT_FOUND', 'API_KEY_NOT_FOUND'] as const),
  ],
  '404 UNIMPLEMENTED': ['ROUTE_NOT_FOUND'],
  '405 UNIMPLEMENTED': ['METHOD_NOT_ALLOWED'],
  '409 FAILED_PRECONDITION': ['CATEGORY_IN_USE', 'PET_IN_USE', 'INSUFFICIENT_STOCK', 'ORDER_COMPLETE'],
  '409 ALREADY_EXISTS': ['IDEMPOTENCY_KEY_REUSED'],
  '410 OUT_OF_RANGE': ['EVENTS_EXPIRED'],
  '412 ABORTED': ['PRECONDITION_FAILED'],
  '408 DEADLINE_EXCEEDED': ['REQUEST_TIMEOUT'],
  '413 RESOURCE_EXHAUSTED': ['BODY_TOO_LARGE'],
  '429 RESOURCE_EXHAUSTED': ['RATE_LIMITED', 'API_KEY_BANNED', 'TOO_MANY_STREAMS'],
  '500 INTERNAL': ['INTERNAL'],
  '503 UNAVAILABLE': ['UNAVAILABLE', 'BAN_NOT_ENDED'],
  '504 DEADLINE_EXCEEDED': ['DEADLINE_EXCEEDED'],
};

test('Error table - each code has the HTTP status of the contract and the gRPC status that fits', (t) => {
  const pairs = new Map(everyError('x').map((error) => [error.code, `${error.httpStatus} ${Grpc[error.grpcStatus]}`]));
  for (const [pair, codes] of Object.entries(CONTRACT)) for (const code of codes) t.is(pairs.get(code), pair, code);
  for (const [code, pair] of pairs) t.true(pair in CONTRACT, `${code}: no other code has ${pair}`);
});

test('Error table - every message is one line', (t) => {
  for (const error of everyError('x')) t.regex(error.message, /^[^\n\r]{10,}$/);
});

test('Error table - a 401 carries the challenge of RFC 6750', (t) => {
  for (const error of everyError('x')) {
    const challenge = error.code === 'API_KEY_INVALID' ? 'Bearer error="invalid_token"' : 'Bearer';
    t.is(error.headers['www-authenticate'], error.httpStatus === 401 ? challenge : undefined, error.code);
  }
});

/** With the headers of every response it is less than 6 KiB. */
const MAX_TRAILERS = 4_608;

test('Errors - are short and well-formed, and fit into headers, whatever a caller sent', (t) => {
  const repeated = ['x', ' ', '%', 'é', '猫', '\n', '\0'].map((character) => character.repeat(100_000));
  for (const error of [...repeated, LONG_EMOJI, LONG_EMOJI.slice(1)].flatMap(everyError)) {
    const { code, message, violations } = error;
    t.true(message.length <= 1_000, `${code}: ${message.length}`);
    t.true(message.isWellFormed(), code);
    for (const { path, name, description } of violations) {
      for (const part of [path, name, description]) t.true(part.length <= 400 && part.isWellFormed(), code);
    }
    const bytes = Object.entries(toTrailers(error)).flat().join('').length;
    t.true(bytes < MAX_TRAILERS, `${code}: ${bytes}`);
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
    t.regex(encoded, /^[\w+/]+$/, 'gRPC does not pad Base64');
    const decoded = RpcStatus.decode(Buffer.from(encoded, 'base64')).details.map(({ typeUrl, value }) => ({
      type: typeUrl.replace('type.googleapis.com/', ''),
      value: Buffer.from(value).toString('base64').replaceAll('=', ''),
    }));
    t.deepEqual(details, decoded);
    t.is(headers?.['content-type'], 'application/json');
  }
});

test('Error response - has the headers of the error, and Retry-After', (t) => {
  const [missing, unavailable] = [anyError('API_KEY_MISSING'), anyError('UNAVAILABLE')];
  for (const toResponse of [restResponse, connectResponse]) {
    t.like(toResponse(missing)?.headers, { 'www-authenticate': 'Bearer', 'retry-after': undefined });
    t.is(toResponse(unavailable)?.headers['retry-after'], '1');
  }
  t.like(toTrailers(missing), { 'grpc-status': '16', 'www-authenticate': 'Bearer', 'retry-after': undefined });
  t.is(decodeURI(toTrailers(missing)['grpc-message'] ?? ''), missing.message);
  const retry = { 'grpc-status': '14', 'retry-after': '1', 'grpc-retry-pushback-ms': '1000' };
  t.like(toTrailers(unavailable), retry);
});

test('Error response - for HEAD has no body, but its length; none has the cause', (t) => {
  const error = anyError('INTERNAL', { requestId: 'request-1' }, { cause: new Error('secret') });
  const get = { 'x-envoy-original-path': '/pets/7' };
  const response = httpError({ ...get, 'x-envoy-original-method': 'HEAD' }, error);
  t.deepEqual([response?.status, response?.body], [500, '']);
  t.is(response?.headers['x-petstore-length'], httpError(get, error)?.headers['content-length']);
  t.is(response?.headers['content-length'], undefined);
  t.notRegex(JSON.stringify([error.message, response, httpError(get, error), toTrailers(error)]), /secret/);
});
