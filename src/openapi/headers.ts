/** The response headers of the document: each is a component that responses refer to. */
import { ETAG } from './examples.ts';
import type { JsonObject } from './json.ts';
import { plansPhrase } from './plans.ts';

const COUNT = { type: 'integer', minimum: 0 };

const HEADERS = {
  'X-RateLimit-Limit': {
    description:
      'The request limit in force: of the minute or of the day, whichever has the fewest requests left. ' +
      `The plan of the account sets both: ${plansPhrase()}.`,
    required: true,
    schema: { ...COUNT, minimum: 1, examples: [1000] },
  },
  'X-RateLimit-Remaining': {
    description: 'Requests left in the window of that limit, over all keys of the account.',
    required: true,
    schema: { ...COUNT, examples: [999] },
  },
  'X-RateLimit-Reset': {
    description: 'When that window ends and its count starts again, as a Unix timestamp in seconds.',
    required: true,
    schema: { ...COUNT, examples: [1798804800] },
  },
  'X-Request-Id': {
    description: 'Identifies the request in the logs of the service: quote it when you report a problem.',
    required: true,
    schema: { type: 'string', examples: ['7b0bfa0a-4c5e-4b5e-9d5c-0f6f2f3c8a11'] },
  },
  'Retry-After': {
    description: 'When to try again, in whole seconds, at least 1.',
    required: true,
    schema: { type: 'integer', minimum: 1, examples: [30] },
  },
  'WWW-Authenticate': {
    description: 'The authentication scheme (RFC 6750).',
    required: true,
    schema: { type: 'string', const: 'Bearer' },
  },
  Allow: {
    description: 'The methods that the path supports.',
    required: true,
    schema: { type: 'string', examples: ['GET, HEAD, POST'] },
  },
  Location: {
    description: 'The path of the created resource.',
    required: true,
    schema: { type: 'string', format: 'uri-reference', examples: ['/pets/1'] },
  },
  ETag: {
    description: 'The entity tag: it changes exactly when the response body does (RFC 9110, section 8.8.3). Opaque.',
    required: true,
    schema: { type: 'string', pattern: '^"[!#-~]+"$', examples: [ETAG] },
  },
  'Idempotency-Replayed': {
    description: 'Present when the response is a replay: a request with this key was carried out before.',
    schema: { type: 'string', const: 'true' },
  },
  Deprecation: {
    description: 'Since when the operation is deprecated, as `@` and a Unix timestamp in seconds (RFC 9745).',
    required: true,
    schema: { type: 'string', pattern: '^@\\d+$', examples: ['@1782864000'] },
  },
  Sunset: {
    description: 'The operation is guaranteed to work until this HTTP date (RFC 8594).',
    required: true,
    schema: { type: 'string', examples: ['Fri, 31 Dec 2027 23:59:59 GMT'] },
  },
} as const satisfies Record<string, JsonObject>;

/** Two headers with the same name, `Link`, which need components with different names. */
const LINKS = {
  'Link-Next': {
    description: 'The address of the next page, with `rel="next"` (RFC 8288). Absent on the last page.',
    schema: { type: 'string', examples: ['</pets?limit=20&pageToken=AQAAAAAAAAAU>; rel="next"'] },
  },
  'Link-Successor': {
    description: 'The address to call instead, with `rel="successor-version"` (RFC 8288).',
    required: true,
    schema: { type: 'string', examples: ['</pets?ids=1>; rel="successor-version"'] },
  },
} as const satisfies Record<string, JsonObject>;

type HeaderName = keyof typeof HEADERS;

const ALWAYS: readonly HeaderName[] = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
];

export const headerComponents: JsonObject = { ...HEADERS, ...LINKS };

/** References to the headers of every response, and to the named ones. */
export function headers(...names: readonly HeaderName[]): JsonObject {
  return Object.fromEntries([...ALWAYS, ...names].map((name) => [name, ref(name)]));
}

export function nextLink(): JsonObject {
  return { Link: ref('Link-Next') };
}

export function deprecationHeaders(): JsonObject {
  return { Deprecation: ref('Deprecation'), Sunset: ref('Sunset'), Link: ref('Link-Successor') };
}

/** The same headers, optional: Envoy responds without them when the server, which counts, is unavailable. */
export function headersIfKnown(...names: readonly HeaderName[]): JsonObject {
  const known = ALWAYS.map((name) => [name, { ...HEADERS[name], required: undefined }]);
  return { ...Object.fromEntries(known), ...Object.fromEntries(names.map((name) => [name, ref(name)])) };
}

function ref(name: HeaderName | keyof typeof LINKS): JsonObject {
  return { $ref: `#/components/headers/${name}` };
}
