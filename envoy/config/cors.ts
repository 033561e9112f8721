/** Cross-origin requests from browsers: https://fetch.spec.whatwg.org/#http-cors-protocol */
import { any, extension, type Message } from './message.ts';
import { HTTP_METHODS } from './operations.ts';

const TYPE = 'envoy.extensions.filters.http.cors.v3';

/**
 * The request headers of REST, gRPC-Web, Connect, and of traces (W3C, Sentry), without the CORS-safelisted ones.
 * Programs that read server-sent events send `cache-control`, as browsers do.
 */
const REQUEST_HEADERS =
  'authorization, cache-control, content-type, idempotency-key, if-match, if-none-match, last-event-id, ' +
  'connect-protocol-version, connect-timeout-ms, grpc-timeout, x-grpc-web, x-user-agent, traceparent, tracestate, ' +
  'baggage, sentry-trace';

/** The response headers of REST (components.headers of the OpenAPI document) and of gRPC-Web. */
const RESPONSE_HEADERS =
  'x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, ratelimit-policy, ratelimit, x-request-id, ' +
  'retry-after, www-authenticate, allow, accept-encoding, location, etag, link, idempotency-replayed, ' +
  'deprecation, sunset, ' +
  'grpc-status, grpc-message, grpc-status-details-bin, grpc-retry-pushback-ms';

/** Responds to preflights, which have no API key, and lets pages of other origins read responses. */
export const CORS_FILTER = extension('envoy.filters.http.cors', `${TYPE}.Cors`);

/** For these origins; `*` allows every origin. */
export function corsPolicy(origins: readonly string[]): Message {
  return any(`${TYPE}.CorsPolicy`, {
    allow_origin_string_match: origins.map((origin) => ({ exact: origin })),
    allow_methods: HTTP_METHODS.join(', '),
    allow_headers: REQUEST_HEADERS,
    expose_headers: RESPONSE_HEADERS,
    // Two hours, the longest time that browsers allow.
    max_age: '7200',
  });
}

/** An expression of Envoy: the origin of the request when it is allowed, otherwise an empty string. */
export function allowedOrigin(origins: readonly string[]): string {
  const list = origins.map((origin) => `'${origin}'`).join(', ');
  const isAllowed = origins.includes('*') ? 'true' : `request.headers['origin'] in [${list}]`;
  return `%CEL('origin' in request.headers && ${isAllowed} ? request.headers['origin'] : '')%`;
}
