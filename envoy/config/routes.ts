/**
 * The routes of the public port. The transcoder has converted REST requests to gRPC by now and rejected everything
 * else, so they are complete. No route reaches the server's other services. The matcher `grpc: {}` would not match
 * gRPC-Web, whose route is selected before its filter converts it.
 */

import type { Config } from '../../src/config/config.ts';
import { BODY_TIMEOUT_MS, CALL_TIMEOUT_MS } from '../../src/config/constants.ts';
import { EDGE_HEADERS } from '../../src/edge/headers.ts';
import { corsPolicy } from './cors.ts';
import { CONNECT_HEADER, GRPC_TYPE, REST_HEADER } from './local-replies.ts';
import { any, extension, header, type Message, seconds, when } from './message.ts';
import { FEEDS } from './operations.ts';

/** What Envoy retries, on another server if there is one: only calls that cannot have begun. */
export const RETRY_ON = 'connect-failure,refused-stream,reset-before-request';
export const MAX_RETRIES = 2;

/** Larger than a body, which is in a gRPC frame by now. */
export const FRAME_BYTES = 131_072;

const RETRY_POLICY = {
  retry_on: RETRY_ON,
  num_retries: MAX_RETRIES,
  retry_host_predicate: [
    extension(
      'envoy.retry_host_predicates.previous_hosts',
      'envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate',
    ),
  ],
  // A failed server has the fewest open requests, so the load balancer would select it again.
  host_selection_retry_max_attempts: 30,
  retry_back_off: { base_interval: '0.005s', max_interval: '0.05s' },
};

/** What the server would parse and keep, but does not read. It gets `origin`, which local replies read. */
const UNREAD_HEADERS = [
  ...['accept', 'accept-encoding', 'accept-language', 'cache-control', 'cookie', 'pragma', 'priority'],
  ...['referer', 'user-agent', 'x-envoy-external-address', 'x-forwarded-proto'],
  EDGE_HEADERS.received,
  ...['sec-ch-ua', 'sec-ch-ua-mobile', 'sec-ch-ua-platform', 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site'],
];

/** HTTP/2 to the server allows neither an empty host nor one with a user: the server would reset the call. */
const BAD_HOST = { name: ':authority', string_match: { safe_regex: { regex: '|.*@.*' } } };
const ANONYMOUS = { name: EDGE_HEADERS.anonymous, present_match: true };
const GET_OR_HEAD = { name: ':method', string_match: { safe_regex: { regex: 'GET|HEAD' } } };

export function routes({ corsOrigins }: Config): Message {
  const hasCors = corsOrigins.length > 0;
  return {
    name: 'public',
    virtual_hosts: [
      {
        name: 'petstore',
        domains: ['*'],
        request_headers_to_remove: UNREAD_HEADERS,
        typed_per_filter_config: hasCors ? { 'envoy.filters.http.cors': corsPolicy(corsOrigins) } : undefined,
        routes: [
          {
            match: { prefix: '/', headers: [BAD_HOST] },
            direct_response: { status: 400, body: { inline_string: 'Host: must be a host, with or without a port' } },
          },
          ...FEEDS.flatMap(feed),
          ...calls(),
          ...requestsWithoutKey(),
          ...docsPage(),
          ...unknownMethods(),
          // The CORS filter runs before the transcoder and needs a route to a cluster to do anything. No request has
          // this header, so this route leads to no cluster and its response is a 404 too.
          ...when(hasCors, {
            match: { prefix: '/', headers: [{ name: 'origin', present_match: true }] },
            route: { cluster_header: EDGE_HEADERS.connect, cluster_not_found_response_code: 'NOT_FOUND' },
          }),
        ],
      },
    ],
  };
}

/** A feed has no deadline but its caller's. Its callers have slots of their own: they wait nearly all of the time. */
function feed(path: string): readonly Message[] {
  const route = { cluster: 'petstore_feeds', timeout: '0s', retry_policy: RETRY_POLICY };
  return [
    { match: { path, headers: [REST_HEADER] }, route, request_headers_to_remove: ['grpc-timeout'] },
    // What is unread must fit into a small window here too: the key may be valid.
    { match: { path, headers: [ANONYMOUS] }, route: { ...route, cluster: 'petstore_open' } },
    { match: { path }, route },
  ];
}

function calls(): readonly Message[] {
  const prefix = '/petstore.v1.';
  const route = { cluster: 'petstore', timeout: seconds(CALL_TIMEOUT_MS), retry_policy: RETRY_POLICY };
  const callTimeout = grpcTimeout(CALL_TIMEOUT_MS);
  // From the headers of a gRPC request to the end of its response: the deadline includes the time for the body.
  const defaultDeadline = [header('grpc-timeout', grpcTimeout(BODY_TIMEOUT_MS + CALL_TIMEOUT_MS), 'ADD_IF_ABSENT')];
  return [
    // REST. The caller is known by now (envoy/caller.lua). With the deadline the server stops work when the caller no
    // longer waits. A REST caller can't choose the deadline.
    {
      match: { prefix, headers: [REST_HEADER] },
      route,
      request_headers_to_add: [header('grpc-timeout', callTimeout, 'OVERWRITE_IF_EXISTS_OR_ADD')],
      request_body_buffer_limit: FRAME_BYTES,
    },
    // Connect. The call is complete by now.
    {
      match: { prefix, headers: [CONNECT_HEADER] },
      route,
      request_headers_to_add: [header('grpc-timeout', callTimeout, 'ADD_IF_ABSENT')],
      request_body_buffer_limit: FRAME_BYTES,
    },
    // gRPC and gRPC-Web. Anonymous callers have slots of their own, so they can't take the slots of callers with an API
    // key.
    {
      match: { prefix, headers: [ANONYMOUS] },
      route: { ...route, cluster: 'petstore_anonymous' },
      request_headers_to_add: defaultDeadline,
    },
    { match: { prefix }, route, request_headers_to_add: defaultDeadline },
  ];
}

/** A timeout in the header of gRPC. */
function grpcTimeout(ms: number): string {
  return `${ms / 1_000}S`;
}

/** These requests have slots of their own. */
function requestsWithoutKey(): readonly Message[] {
  const web = '/petstore.web.v1.WebService/';
  const withSlash = { name: REST_HEADER.name, string_match: { safe_regex: { regex: '[^?]*/(\\?.*)?' } } };
  // The caller can't choose the deadline here either.
  const request_headers_to_remove = ['grpc-timeout'];
  return [
    // The transcoder would respond to /docs/page.js/ as to /docs/page.js.
    { match: { prefix: web, headers: [withSlash] }, direct_response: { status: 404 } },
    {
      match: { path: `${web}CheckHealth` },
      route: { cluster: 'petstore_health', timeout: '2s' },
      request_headers_to_remove,
    },
    {
      match: { prefix: web },
      route: { cluster: 'petstore_open', timeout: '0s', idle_timeout: '30s' },
      request_headers_to_remove,
      request_headers_to_add: [header(EDGE_HEADERS.acceptEncoding, '%REQ(ACCEPT-ENCODING)%')],
    },
    {
      match: { prefix: '/grpc.health.v1.Health/' },
      route: { cluster: 'petstore_open', timeout: '0s', idle_timeout: '0s' },
    },
    { match: { prefix: '/grpc.reflection.' }, route: { cluster: 'petstore_open', timeout: '0s' } },
  ];
}

/** Browsers go to the docs page. Other clients get an error. */
function docsPage(): readonly Message[] {
  const disabled = any('envoy.config.route.v3.FilterConfig', { disabled: true });
  const redirect = {
    direct_response: { status: 302 },
    response_headers_to_add: [header('location', '/docs', 'OVERWRITE_IF_EXISTS_OR_ADD'), header('vary', 'accept')],
    typed_per_filter_config: { 'petstore.caller': disabled, 'envoy.filters.http.grpc_json_transcoder': disabled },
  };
  const wantsPage = { name: 'accept', string_match: { contains: 'text/html' } };
  return [
    { match: { path: '/', headers: [GET_OR_HEAD, wantsPage] }, ...redirect },
    { match: { path: '/docs/', headers: [GET_OR_HEAD] }, ...redirect },
  ];
}

/**
 * gRPC calls of anything else. The server judges and counts them, and responds UNIMPLEMENTED: the slash at the end
 * makes each path one that it does not have, also that of an internal method.
 */
function unknownMethods(): readonly Message[] {
  const regex_rewrite = { pattern: { regex: '^[^?]*' }, substitution: '\\0/' };
  const route = { cluster: 'petstore', timeout: seconds(CALL_TIMEOUT_MS), retry_policy: RETRY_POLICY, regex_rewrite };
  return [
    { match: { prefix: '/', headers: [GRPC_TYPE, ANONYMOUS] }, route: { ...route, cluster: 'petstore_anonymous' } },
    { match: { prefix: '/', headers: [GRPC_TYPE] }, route },
  ];
}
