/** Cross-origin requests from browsers: https://fetch.spec.whatwg.org/#http-cors-protocol */
import { loadOperations } from '../proto/operations.ts';

/** The request headers of REST, gRPC-Web, Connect and W3C Trace Context, without the CORS-safelisted ones. */
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

/** The response headers of REST (components.headers of the OpenAPI document) and of gRPC-Web. */
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

/** The values for the placeholders in envoy.yaml. The origin `*` allows every origin. */
export function corsValues(origins: readonly string[]) {
  return {
    CORS_ORIGINS: origins.map((origin) => ({ exact: origin })),
    CORS_ORIGIN: `%CEL(${allowedOrigin(origins)})%`,
    CORS_METHODS: methods().join(', '),
    CORS_REQUEST_HEADERS: REQUEST_HEADERS.join(', '),
    CORS_RESPONSE_HEADERS: RESPONSE_HEADERS.join(', '),
  };
}

/** A CEL expression: the origin of the request when it is allowed, otherwise an empty string. */
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
