/**
 * Errors that Envoy detects, in the API's error shape. Where possible the Lua filter asks the server for the response:
 * headers of the local reply describe the request, and its body has Envoy's message.
 */
import type { EdgeConfig } from '../../src/platform/config/config.ts';
import { MAX_PATH_LENGTH } from '../../src/platform/config/constants.ts';
import { EDGE_HEADERS } from '../../src/platform/edge-headers.ts';
import { type ApiError, apiError, errorSaying } from '../../src/platform/errors.ts';
import { connectBody } from '../../src/platform/protocols/connect/connect.ts';
import { toTrailers } from '../../src/platform/protocols/grpc/errors.ts';
import { restBody } from '../../src/platform/protocols/rest/responses.ts';
import { and, expression, hasHeader, or, passedHeader, status } from './conditions.ts';
import { allowedOrigin } from './cors.ts';
import { FILTERS, GRPC_TYPE } from './kinds.ts';
import { header, literal, type Message, when } from './message.ts';
import { CONNECT_HEADER, REST_HEADER } from './routes.ts';

export const CALLER_ADDRESS = '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%';

const IS_NOT_GRPC = hasHeader({ ...GRPC_TYPE, invert_match: true, treat_missing_header_as_empty: true });
/** Envoy's memory runs out, or the server has failed during its response. */
const PASSES_NO_FILTER = or(
  { response_flag_filter: { flags: ['OM'] } },
  expression(
    "response.code_details.startsWith('upstream_reset_after_response_started') || response.code_details == 'overload'",
  ),
);
const IS_UNAVAILABLE = or({ response_flag_filter: { flags: ['UO'] } }, PASSES_NO_FILTER);
export const IS_ERROR = status('GE', 400);

/** The Lua filters have the whole response already. */
const IS_WHOLE = expression(`'${EDGE_HEADERS.code}' in response.headers`);
/** For the Lua filter, which gives the reply that of gRPC if it has none. */
const CONTENT_TYPE = header(EDGE_HEADERS.refusedType, '%REQ(CONTENT-TYPE)%');

export const INVALID_HTTP = json(
  restBody(errorSaying('INVALID_ARGUMENT', 'the request is not valid HTTP, or its headers are too large')),
);

/** The first mapper whose filter matches is used. */
export function localReplies(config: EdgeConfig): readonly Message[] {
  const { corsOrigins } = config;
  const hasPassed = hasHeader(passedHeader(config));
  const isConnect = and(hasPassed, hasHeader(CONNECT_HEADER));
  const isRestOrConnect = or(IS_NOT_GRPC, and(hasPassed, hasHeader(REST_HEADER)), isConnect);
  const unavailable = apiError('UNAVAILABLE');
  // Such a reply passes no filter, so the CORS filter can't add the header.
  const origin = when(corsOrigins.length > 0, header('access-control-allow-origin', allowedOrigin(corsOrigins)));
  return [
    { filter: IS_WHOLE, headers_to_add: [CONTENT_TYPE] },
    // The server is not asked if all its slots are in use or Envoy's memory runs out, since a refused call must cost
    // nothing. Nor is it asked if no filter could do so.
    ...[
      { is: isConnect, body: connectBody(unavailable) },
      { is: isRestOrConnect, body: restBody(unavailable) },
    ].map(({ is, body }) => ({
      filter: and(is, IS_UNAVAILABLE),
      status_code: 503,
      headers_to_add: [header('retry-after', '1'), ...origin],
      body_format_override: json(body),
    })),
    // Invalid HTTP in a body: the connection ends with the reply, so the server is not asked.
    invalidHttp(expression("response.code_details.startsWith('http1.')")),
    // All other errors of what has passed the filters: the Lua filter asks the server.
    // What a filter says matters with these: the wrong value, and the coding. Of a path without a method the transcoder
    // says the path, which may be longer than what a filter may hold.
    ...[
      { is: or(status('EQ', 400), status('EQ', 415)), text: '%LOCAL_REPLY_BODY%' },
      { is: IS_ERROR, text: '-' },
    ].map(({ is, text }) => ({
      filter: and(hasPassed, isRestOrConnect, is),
      headers_to_add: [
        header(EDGE_HEADERS.refused, '%REQ(X-ENVOY-ORIGINAL-METHOD?:METHOD)%'),
        header(
          EDGE_HEADERS.refusedKind,
          `%METADATA(ROUTE:${FILTERS.caller}:judge)% %METADATA(ROUTE:${FILTERS.caller}:errors)%`,
        ),
        // More than enough for the server to refuse it.
        header(EDGE_HEADERS.refusedPath, `%REQ(X-ENVOY-ORIGINAL-PATH?:PATH):${MAX_PATH_LENGTH + 1}%`),
        header(EDGE_HEADERS.refusedAuthorization, '%REQ(AUTHORIZATION)%'),
        header(EDGE_HEADERS.refusedForwardedFor, CALLER_ADDRESS),
        header(EDGE_HEADERS.refusedRequestId, '%REQ(X-REQUEST-ID)%'),
        header(EDGE_HEADERS.refusedContentType, `%REQ(${EDGE_HEADERS.bodyType})%`),
      ],
      body_format_override: { text_format_source: { inline_string: text } },
    })),
    // There may be no complete request, and its headers are the caller's own.
    invalidHttp(IS_ERROR),
    // Envoy makes it one of gRPC if it knows the content type. For others 503 says UNAVAILABLE.
    {
      filter: PASSES_NO_FILTER,
      headers_to_add: [...trailers(unavailable), ...origin],
      body_format_override: { text_format_source: { inline_string: unavailable.message } },
    },
    grpcReply(status('EQ', 400), errorSaying('INVALID_ARGUMENT', 'the request is not valid HTTP or gRPC-Web')),
    // When the server is too late to say so.
    grpcReply(status('EQ', 408), apiError('REQUEST_TIMEOUT')),
    grpcReply(status('EQ', 504), apiError('DEADLINE_EXCEEDED')),
    grpcReply(IS_ERROR, unavailable, origin),
  ];
}

function invalidHttp(filter: Message): Message {
  return {
    filter: and(IS_NOT_GRPC, filter),
    status_code: 400,
    headers_to_add: [header('x-request-id', '%UNIQUE_ID%', 'ADD_IF_ABSENT')],
    body_format_override: INVALID_HTTP,
  };
}

/** For gRPC and gRPC-Web: headers alone. The Lua filter adds the content type. */
function grpcReply(filter: Message, error: ApiError, more: readonly Message[] = []): Message {
  return {
    filter,
    status_code: 200,
    headers_to_add: [CONTENT_TYPE, ...trailers(error), ...more],
    body_format_override: { text_format_source: { inline_string: '' } },
  };
}

function trailers(error: ApiError): readonly Message[] {
  return Object.entries(toTrailers(error)).map(([name, value]) => header(name, literal(value)));
}

function json(body: string): Message {
  return { content_type: 'application/json', text_format_source: { inline_string: body } };
}
