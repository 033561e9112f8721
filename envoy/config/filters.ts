/** The HTTP filters of the public port. A request passes them in this order, and its response in reverse. */
import type { EdgeConfig } from '../../src/platform/config/config.ts';
import { MAX_BODY_BYTES } from '../../src/platform/config/constants.ts';
import { EDGE_HEADERS } from '../../src/platform/edge-headers.ts';
import { LOG_FILTER } from './access-log.ts';
import { CORS_FILTER } from './cors.ts';
import { FILTERS, MAX_HELD_BYTES } from './kinds.ts';
import { CALLER_ADDRESS } from './local-replies.ts';
import { luaFilter } from './lua.ts';
import { extension, header, literal, type Message, when } from './message.ts';
import { REST_SERVICES } from './operations.ts';
import type { Files } from './servers.ts';

const HTTP = 'envoy.extensions.filters.http';

export const ROUTER = extension('envoy.filters.http.router', `${HTTP}.router.v3.Router`, {
  suppress_envoy_headers: true,
});

export function httpFilters(config: EdgeConfig, { root }: Files): readonly Message[] {
  const lua = (name: string, ...handlers: readonly string[]) => luaFilter(name, config, root, handlers.join('\n'));
  const onRequest = (module: string) => `envoy_on_request = require("${module}").on_request`;
  return [
    boundary(config),
    ...when(config.corsOrigins.length > 0, CORS_FILTER),
    LOG_FILTER,
    lua(FILTERS.caller, onRequest('caller'), 'envoy_on_response = require("responses").on_response'),
    buffer(FILTERS.body, MAX_BODY_BYTES), // a larger body is a 413
    lua(FILTERS.rest, onRequest('rest')),
    lua(FILTERS.connect, onRequest('connect')),
    extension(FILTERS.grpcWeb, `${HTTP}.grpc_web.v3.GrpcWeb`),
    transcoder(`${root}/gen/transcoder.binpb`, REST_SERVICES),
    buffer(FILTERS.complete, MAX_HELD_BYTES),
    ROUTER,
  ];
}

function headerMutation(name: string, mutations: Message): Message {
  return extension(name, `${HTTP}.header_mutation.v3.HeaderMutation`, { mutations });
}

/** The first filter for requests and the last for responses. */
function boundary({ edgeSecret, corsOrigins, httpPort }: EdgeConfig): Message {
  return headerMutation('edge.boundary', {
    request_mutations: [
      { append: header('x-forwarded-for', CALLER_ADDRESS, 'OVERWRITE_IF_EXISTS_OR_ADD') },
      // By the secret the server knows that it can trust the caller's address.
      { append: header(EDGE_HEADERS.edge, literal(edgeSecret)) },
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

/**
 * Finds the methods of these services by the paths in the descriptors (scripts/transcoder-set.ts). By itself it has
 * Envoy select a route anew for what it has converted: one of `converted` in routes.ts.
 */
export function transcoder(proto_descriptor: string, services: readonly string[]): Message {
  return extension('envoy.filters.http.grpc_json_transcoder', `${HTTP}.grpc_json_transcoder.v3.GrpcJsonTranscoder`, {
    proto_descriptor,
    services,
    print_options: { always_print_primitive_fields: true },
    // The server rejects unknown parameters, and its error names all of them.
    ignore_unknown_query_parameters: true,
    request_validation_options: { reject_unknown_method: true },
    // The filter before it has measured the body.
    max_request_body_size: MAX_HELD_BYTES,
    // The path has the name of a file.
    ignored_query_parameters: ['file'],
  });
}

function buffer(name: string, max_request_bytes: number): Message {
  return extension(name, `${HTTP}.buffer.v3.Buffer`, { max_request_bytes });
}
