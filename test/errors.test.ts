import { status as Grpc } from '@grpc/grpc-js';
import test from 'ava';
import { anyError, type ErrorCode } from '../scripts/openapi/error-table.ts';
import { type ApiError, invalidArgument, PLATFORM_ERRORS } from '../src/platform/errors.ts';
import { toTrailers } from '../src/platform/protocols/grpc/errors.ts';
import { entityTag } from '../src/platform/rpc/entity-tags.ts';
import { SHOP_ERRORS } from '../src/shop/errors.ts';

/** A cut at any even position leaves half a surrogate pair. */
const LONG_EMOJI = `x${'😀'.repeat(50_000)}`;

const CODES = [...Object.keys(PLATFORM_ERRORS), ...Object.keys(SHOP_ERRORS)] as ErrorCode[];
const any = anyError as (code: ErrorCode, fields: object, options: { readonly cause: Error }) => ApiError;

/** Returns every error, with the longest numbers, and with `text` wherever a caller's text may appear. */
function everyError(text: string): readonly ApiError[] {
  const violations = Array.from({ length: 20 }, () => ({ path: text, name: text, description: text }));
  const id = -(2n ** 63n);
  const numbers = ['quantity', 'held', 'inStock', 'limit', 'retryAfterSeconds'].map((name) => [name, 2 ** 31 - 1]);
  const known = {
    ...{ isSuspended: false, window: 'minute', allow: 'GET, HEAD', requestId: text, ...Object.fromEntries(numbers) },
    ...{ after: 1n, oldest: 2n ** 63n - 1n, etag: entityTag(Buffer.from(text)) },
  };
  const get = (fields: object, name: string) => Reflect.get(fields, name) ?? (name.endsWith('Id') ? id : text);
  const fields = new Proxy(known, { get });
  const options = { cause: new Error(text) };
  return CODES.map((code) => (code === 'INVALID_ARGUMENT' ? invalidArgument(violations) : any(code, fields, options)));
}

/** The codes of the contract, by HTTP status and the canonical gRPC status that fits. */
const CONTRACT: Readonly<Record<string, readonly ErrorCode[]>> = {
  '400 INVALID_ARGUMENT': [
    ...(['MALFORMED_BODY', 'INVALID_ARGUMENT', 'UNSUPPORTED_CONTENT_TYPE', 'UNKNOWN_CATEGORY', 'UNKNOWN_PET'] as const),
    'EVENT_NOT_REACHED',
  ],
  '401 UNAUTHENTICATED': ['API_KEY_MISSING', 'API_KEY_INVALID', 'OPERATOR_KEY_INVALID'],
  '403 PERMISSION_DENIED': ['PERMISSION_DENIED'],
  '404 NOT_FOUND': [
    ...(['PET_NOT_FOUND', 'CATEGORY_NOT_FOUND', 'ORDER_NOT_FOUND', 'INVENTORY_NOT_FOUND'] as const),
    ...(['ACCOUNT_NOT_FOUND', 'API_KEY_NOT_FOUND'] as const),
  ],
  '404 UNIMPLEMENTED': ['ROUTE_NOT_FOUND'],
  '405 UNIMPLEMENTED': ['METHOD_NOT_ALLOWED'],
  '409 FAILED_PRECONDITION': ['CATEGORY_IN_USE', 'PET_IN_USE', 'INSUFFICIENT_STOCK', 'ORDER_COMPLETE', 'API_KEY_ENDED'],
  '409 ALREADY_EXISTS': ['IDEMPOTENCY_KEY_REUSED'],
  '410 OUT_OF_RANGE': ['EVENTS_EXPIRED'],
  '412 ABORTED': ['PRECONDITION_FAILED'],
  '408 DEADLINE_EXCEEDED': ['REQUEST_TIMEOUT'],
  '413 RESOURCE_EXHAUSTED': ['BODY_TOO_LARGE'],
  '415 INVALID_ARGUMENT': ['UNSUPPORTED_CONTENT_ENCODING'],
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

test('Error table - a 401 carries the challenge of RFC 6750', (t) => {
  for (const error of everyError('x')) {
    const challenge = `Bearer realm="petstore"${error.code === 'API_KEY_INVALID' ? ', error="invalid_token"' : ''}`;
    t.is(error.headers['www-authenticate'], error.httpStatus === 401 ? challenge : undefined, error.code);
  }
});

/** With the headers of every response it is less than 6 KiB. Python's and Java's clients take 8 KiB. */
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
