/**
 * What a page of another origin may send and read in a browser (CORS):
 * https://fetch.spec.whatwg.org/#http-cors-protocol
 */
import { loadOperations } from '../proto/operations.ts';

/** Of REST, gRPC-Web and Connect, and the headers of W3C Trace Context. What every page may send is not in it. */
const REQUEST_HEADERS = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'connect-protocol-version',
  'connect-timeout-ms',
  'grpc-timeout',
  'x-grpc-web',
  'x-user-agent',
  'traceparent',
  'tracestate',
];

/** All that REST answers have (components.headers of the description), and what gRPC-Web puts into headers. */
const RESPONSE_HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-request-id',
  'retry-after',
  'www-authenticate',
  'allow',
  'location',
  'etag',
  'link',
  'idempotency-replayed',
  'deprecation',
  'sunset',
  'grpc-status',
  'grpc-message',
  'grpc-status-details-bin',
  'grpc-retry-pushback-ms',
];

/** What stands in envoy.yaml, by the name of its place. `*` among the origins is every one, to Envoy too. */
export function corsValues(origins: readonly string[]) {
  return {
    CORS_ORIGINS: origins.map((origin) => ({ exact: origin })),
    CORS_ORIGIN: `%CEL(${allowedOrigin(origins)})%`,
    CORS_METHODS: methods().join(', '),
    CORS_REQUEST_HEADERS: REQUEST_HEADERS.join(', '),
    CORS_RESPONSE_HEADERS: RESPONSE_HEADERS.join(', '),
  };
}

/** The request's origin if it is one of these, or an empty text, in the language of Envoy's expressions. */
function allowedOrigin(origins: readonly string[]): string {
  const list = origins.map((origin) => `'${origin}'`).join(', ');
  const isAllowed = origins.includes('*') ? 'true' : `request.headers['origin'] in [${list}]`;
  return `'origin' in request.headers && ${isAllowed} ? request.headers['origin'] : ''`;
}

function methods(): string[] {
  const routes = [...loadOperations().byPath.values()].flatMap((operation) => operation.routes);
  const names = routes.map(({ method }) => method).filter((method) => method !== '*');
  return [...new Set(names)].toSorted();
}
