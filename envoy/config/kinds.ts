/**
 * Every kind of request on the public port, and what runs for it. Envoy's routes and filters are made of this table.
 *
 * The kind of a request is the first one that matches its headers as they came. A filter that a kind does not name in
 * `without` runs: what nobody thought of is judged, bounded and counted. CONNECT has no path, so it has no kind, and
 * passes all filters. Two things have no row, since they end before any of these filters: preflights, which the CORS
 * filter answers, and invalid HTTP, which gets a 400 (local-replies.ts).
 */
import { MAX_BODY_BYTES } from '../../src/platform/config/constants.ts';
import { API_PREFIX } from '../../src/platform/proto/operations.ts';
import { any, header, type Message } from './message.ts';
import { FILE_PATHS, PROBE_PATHS } from './operations.ts';

/** The filters that a kind may leave out, in the order in which a request passes them. */
export const FILTERS = {
  /** Judges the caller by the headers, before anything else of the request is awaited. */
  caller: 'edge.caller',
  /** Waits for the body, whatever the method. */
  body: 'edge.body',
  /** Checks that a body is JSON, and its lists. */
  rest: 'edge.rest',
  /** Makes a unary call of Connect one of gRPC. */
  connect: 'edge.connect',
  grpcWeb: 'envoy.filters.http.grpc_web',
  transcoder: 'envoy.filters.http.grpc_json_transcoder',
  /** Holds the headers back until the transcoder has read the body: the server counts a call by its headers. */
  complete: 'edge.complete',
} as const;

export type Filter = keyof typeof FILTERS;

export interface RouteMatch extends Message {
  readonly headers?: readonly Message[];
}

export interface Kind {
  readonly name: string;
  /** Matches of routes. One of them must match. */
  readonly matches: readonly RouteMatch[];
  /**
   * Who judges the caller by the headers: `server`, as the call goes on at once; `edge`, which asks the server before
   * it awaits more; or `nobody`, since the request needs no key. Each has allowances of its own (allowance.lua).
   */
  readonly judge: 'edge' | 'server' | 'nobody';
  /** The shape of errors that Envoy detects. */
  readonly errors: 'rest' | 'connect' | 'grpc';
  /** The filters that it skips, and why. */
  readonly without: Readonly<Partial<Record<Filter, string>>>;
  /**
   * Where it goes (routes.ts): by the path of a method, to one cluster, nowhere, since a filter converts it, or to no
   * server, since this is the response.
   */
  readonly to: 'method' | 'open' | 'converted' | Message;
}

/** gRPC and gRPC-Web. */
export const GRPC_TYPE = contentType('application/grpc(\\+[^;\\s]*|-web(-text)?(\\+proto)?)?');
const GRPC_WEB_TEXT = contentType('application/grpc-web-text(\\+proto)?');
/**
 * What no Host has: a user, or several of them, which Envoy joins by commas (RFC 9112, section 3.2). It means the same
 * to RE2 and, in caller.lua, as a pattern of Lua. Neither allows an empty one: http-errors.test.ts sends both the same.
 */
export const IN_BAD_HOST = '[@,]';
const HAS_BAD_HOST = { name: ':authority', string_match: { safe_regex: { regex: `|.*${IN_BAD_HOST}.*` } } };
const HAS_GOOD_HOST = { ...HAS_BAD_HOST, invert_match: true };
const GET_OR_HEAD = { name: ':method', string_match: { safe_regex: { regex: 'GET|HEAD' } } };
const WANTS_PAGE = { name: 'accept', string_match: { contains: 'text/html' } };
/** No body, unless one comes in chunks or frames: then its length is not in the headers. */
const NO_LENGTH = {
  name: 'content-length',
  string_match: { safe_regex: { regex: '0?' } },
  treat_missing_header_as_empty: true,
};

/** What needs no key has no parameters but a page's own. Thousands would take the transcoder a millisecond. */
const SHORT_QUERY = { name: ':path', string_match: { safe_regex: { regex: '[^?]*(\\?.{0,200})?' } } };

const NOT_CONNECT = 'its content type is another';
const BY_HEADERS = 'Envoy responds by the headers';
const STREAMED = 'the server reads messages as they come';
const OF_GRPC = { body: STREAMED, rest: STREAMED, connect: NOT_CONNECT, transcoder: STREAMED, complete: STREAMED };
const OF_REST = { connect: NOT_CONNECT, grpcWeb: NOT_CONNECT };
const TO_PAGE = {
  direct_response: { status: 302 },
  response_headers_to_add: [header('location', '/docs', 'OVERWRITE_IF_EXISTS_OR_ADD'), header('vary', 'accept')],
};

export const KINDS: readonly Kind[] = [
  {
    name: 'gRPC health and reflection',
    matches: ['/grpc.health.v1.Health/', '/grpc.reflection.'].map((prefix) => ({ prefix, headers: [GRPC_TYPE] })),
    judge: 'nobody',
    errors: 'grpc',
    without: OF_GRPC,
    to: 'open',
  },
  {
    name: 'gRPC-Web in text',
    matches: [{ prefix: '/', headers: [GRPC_WEB_TEXT] }],
    judge: 'edge', // the filter for gRPC-Web refuses what is not Base64
    errors: 'grpc',
    without: OF_GRPC,
    to: 'method',
  },
  {
    name: 'gRPC',
    matches: [{ prefix: '/', headers: [GRPC_TYPE] }],
    judge: 'server',
    errors: 'grpc',
    without: OF_GRPC,
    to: 'method',
  },
  {
    name: 'redirect',
    matches: [
      { path: '/', headers: [WANTS_PAGE, HAS_GOOD_HOST, GET_OR_HEAD] },
      { path: '/docs/', headers: [HAS_GOOD_HOST, GET_OR_HEAD] },
    ],
    judge: 'nobody',
    errors: 'rest',
    without: { ...OF_REST, body: BY_HEADERS, rest: BY_HEADERS, transcoder: BY_HEADERS, complete: BY_HEADERS },
    to: TO_PAGE,
  },
  {
    name: '/healthz',
    matches: [{ ...anyOf(PROBE_PATHS), headers: [NO_LENGTH, SHORT_QUERY] }],
    judge: 'nobody',
    errors: 'rest',
    without: OF_REST,
    to: 'converted',
  },
  {
    name: 'file',
    matches: [{ ...anyOf(FILE_PATHS), headers: [GET_OR_HEAD, NO_LENGTH, SHORT_QUERY] }],
    judge: 'nobody',
    errors: 'rest',
    without: OF_REST,
    to: 'converted',
  },
  {
    // Supported or not. REST has no such paths.
    name: 'Connect',
    matches: [{ prefix: API_PREFIX }],
    judge: 'edge',
    errors: 'connect',
    without: { rest: 'no JSON', grpcWeb: NOT_CONNECT, transcoder: 'it names its method', complete: 'body waits' },
    to: 'converted',
  },
  {
    name: 'REST',
    matches: [{ prefix: '/' }],
    judge: 'edge',
    errors: 'rest',
    without: OF_REST,
    to: 'converted',
  },
];

/** What a route tells the Lua filters and local replies of its requests. */
export function filterMetadata(judge: Kind['judge'], errors: Kind['errors']): Message {
  return { metadata: { filter_metadata: { [FILTERS.caller]: { judge, errors } } } };
}

/**
 * The largest body that Envoy holds after the first filters: five times the largest of a caller. The filters `rest` and
 * `connect`, which have measured it, make it longer: `1e18` becomes 19 digits in quotes. And what comes while the
 * server judges the caller, 128 KiB until Envoy stops reading, must fill less than half of this, or Envoy never reads
 * on.
 */
export const MAX_HELD_BYTES = 5 * MAX_BODY_BYTES;
/** For who needs no key: Envoy holds it before anybody is judged. Its responses need as much. */
const MAX_OPEN_BYTES = 16_384;

/** What the routes of a kind say of it, and of the largest body if it is not the usual one. */
export function ofKind({ judge, errors, without }: Kind, maxBytes = judge === 'nobody' ? MAX_OPEN_BYTES : 0): Message {
  const disabled = any('envoy.config.route.v3.FilterConfig', { disabled: true });
  const skipped = Object.keys(without).map((filter) => [FILTERS[filter as Filter], disabled]);
  const buffer = any('envoy.extensions.filters.http.buffer.v3.BufferPerRoute', {
    buffer: { max_request_bytes: maxBytes },
  });
  const limited = maxBytes > 0 ? [[FILTERS.body, buffer]] : [];
  return {
    ...filterMetadata(judge, errors),
    typed_per_filter_config: Object.fromEntries([...limited, ...skipped]),
  };
}

/** Any of these paths. */
export function anyOf(paths: readonly string[]): Message {
  return { safe_regex: { regex: paths.map((path) => path.replaceAll('.', '\\.')).join('|') } };
}

/** A media type in any case, with parameters. The filter for callers makes it plain for those after it. */
function contentType(regex: string): Message {
  return { name: 'content-type', string_match: { safe_regex: { regex: `(?i)(${regex})\\s*(;.*)?` } } };
}
