/** The HTTP filters of the public port. A request passes them in this order, and its response in reverse. */

import type { Config } from '../../src/config/config.ts';
import { MAX_BODY_BYTES } from '../../src/config/constants.ts';
import { EDGE_HEADERS } from '../../src/edge/headers.ts';
import { LOG_FILTER } from './access-log.ts';
import type { Files } from './bootstrap.ts';
import { CORS_FILTER } from './cors.ts';
import { CALLER_ADDRESS } from './local-replies.ts';
import { luaFilter } from './lua.ts';
import { matched, SKIP_BUFFER, SKIP_CALLER, SKIP_HEDGING, SKIP_RECEIVED, SKIP_REST } from './matchers.ts';
import { extension, header, type Message, when } from './message.ts';
import { REST_SERVICES } from './operations.ts';
import { FRAME_BYTES } from './routes.ts';
import { hedgeDelayMs } from './servers.ts';

const HTTP = 'envoy.extensions.filters.http';

export const ROUTER = extension('envoy.filters.http.router', `${HTTP}.router.v3.Router`, {
  suppress_envoy_headers: true,
});

export function httpFilters(config: Config, { root }: Files): readonly Message[] {
  const caller =
    'envoy_on_request = require("caller").on_request\nenvoy_on_response = require("responses").on_response';
  return [
    boundary(config),
    ...when(config.corsOrigins.length > 0, CORS_FILTER),
    LOG_FILTER,
    matched('petstore.caller', SKIP_CALLER, luaFilter(config, root, caller)),
    // While Envoy asks about a key, the body may come to exceed the buffer. Then Envoy reads no more of it, and
    // petstore.rest would wait for its end: this number tells it.
    matched(
      'petstore.received',
      SKIP_RECEIVED,
      headerMutation('envoy.filters.http.header_mutation', {
        request_mutations: [
          { append: header(EDGE_HEADERS.received, '%BYTES_RECEIVED%', 'OVERWRITE_IF_EXISTS_OR_ADD') },
        ],
      }),
    ),
    matched('petstore.rest', SKIP_REST, luaFilter(config, root, 'envoy_on_request = require("rest").on_request')),
    extension('envoy.filters.http.grpc_web', `${HTTP}.grpc_web.v3.GrpcWeb`),
    transcoder(root),
    // The server checks and counts a call when its headers arrive. So a body must be complete and valid by then: if the
    // transcoder can't read it, the server never sees the request.
    matched(
      'petstore.buffer',
      SKIP_BUFFER,
      extension('envoy.filters.http.buffer', `${HTTP}.buffer.v3.Buffer`, { max_request_bytes: FRAME_BYTES }),
    ),
    hedging(config),
    ROUTER,
  ];
}

function headerMutation(name: string, mutations: Message): Message {
  return extension(name, `${HTTP}.header_mutation.v3.HeaderMutation`, { mutations });
}

/** The first filter for requests and the last for responses. */
function boundary({ edgeSecret = '', corsOrigins, httpPort }: Config): Message {
  return headerMutation('petstore.boundary', {
    request_mutations: [
      { append: header('x-forwarded-for', CALLER_ADDRESS, 'OVERWRITE_IF_EXISTS_OR_ADD') },
      // By the secret the server knows that it can trust the caller's address.
      { append: header(EDGE_HEADERS.edge, edgeSecret) },
    ],
    response_mutations: [
      // On every response: the origin of the page decides whether the browser lets it read the response.
      ...when(corsOrigins.length > 0, { append: header('vary', 'origin', 'APPEND_IF_EXISTS_OR_ADD') }),
      // HSTS (RFC 6797), for a year.
      ...when(httpPort !== undefined, {
        append: header('strict-transport-security', 'max-age=31536000', 'OVERWRITE_IF_EXISTS_OR_ADD'),
      }),
    ],
  });
}

function transcoder(root: string): Message {
  return extension('envoy.filters.http.grpc_json_transcoder', `${HTTP}.grpc_json_transcoder.v3.GrpcJsonTranscoder`, {
    proto_descriptor: `${root}/gen/petstore.binpb`,
    services: REST_SERVICES,
    print_options: { always_print_primitive_fields: true },
    // The server rejects unknown parameters, and its error names all of them.
    ignore_unknown_query_parameters: true,
    request_validation_options: { reject_unknown_method: true },
    // The transcoder accepts only bodies that are shorter than this.
    max_request_body_size: MAX_BODY_BYTES + 1,
  });
}

/**
 * Hedging: a read without a response after this time is also sent to a second server, in case the first hangs. The
 * caller gets the first response, so a slow one is not lost. A read is retried if its server fails. These headers
 * configure the router.
 */
function hedging(config: Config): Message {
  const request_mutations = [
    { append: header('x-envoy-upstream-rq-per-try-timeout-ms', String(hedgeDelayMs(config))) },
    { append: header('x-envoy-hedge-on-per-try-timeout', 'true') },
    { append: header('x-envoy-retry-on', 'reset') },
  ];
  const filter = headerMutation('envoy.filters.http.header_mutation', { request_mutations });
  return matched('petstore.hedging', SKIP_HEDGING, filter);
}
