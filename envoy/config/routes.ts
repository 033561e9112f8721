/**
 * The routes of the public port. A request is routed when it arrives, which finds its kind (kinds.ts), and again when a
 * filter has found that the caller is anonymous, has changed its body, or has converted it to gRPC. No route reaches
 * the server's other services.
 */
import { CLUSTERS } from '../../src/identity.ts';
import type { EdgeConfig } from '../../src/platform/config/config.ts';
import { BODY_TIMEOUT_MS, CALL_TIMEOUT_MS } from '../../src/platform/config/times.ts';
import { EDGE_HEADERS, ORIGINAL_PATH } from '../../src/platform/edge-headers.ts';
import { API_PREFIX } from '../../src/platform/proto/operations.ts';
import { corsPolicy } from './cors.ts';
import { anyOf, filterMetadata, KINDS, type Kind, MAX_HELD_BYTES, ofKind, type RouteMatch } from './kinds.ts';
import { extension, header, type Message, seconds, when } from './message.ts';
import { EVENT_STREAMS, FILE_METHODS, PROBE_METHODS, READS } from './operations.ts';
import { hedgeDelayMs } from './servers.ts';

/** What Envoy retries, on another server if there is one: only calls that cannot have begun. */
const RETRY_ON = 'connect-failure,refused-stream,reset-before-request';
export const MAX_RETRIES = 2;
/** A hedged call changes nothing, so it may have begun. */
export const HEDGED_RETRY_ON = `${RETRY_ON},reset`;

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

/** What the server would parse and keep, but does not read. Local replies read `origin`, the log `user-agent`. */
const UNREAD_HEADERS = [
  ...['accept', 'accept-language', 'cache-control', 'cookie', 'pragma', 'priority'],
  ...['referer', 'x-envoy-external-address', 'x-forwarded-proto'],
  ...['sec-ch-ua', 'sec-ch-ua-mobile', 'sec-ch-ua-platform', 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site'],
];

/** The transcoder has converted the request: it sets this header, which no caller can. */
export const REST_HEADER = { name: ORIGINAL_PATH, present_match: true };
/** The Connect filter has converted the request. */
export const CONNECT_HEADER = { name: EDGE_HEADERS.connect, present_match: true };
/** The caller filter has found that the caller is anonymous (keys.lua), or was until he was judged. */
const ANONYMOUS = { name: EDGE_HEADERS.anonymous, present_match: true };

/** The filter `rest` has read the body, and may make it longer. */
const BODY_READ = { name: EDGE_HEADERS.bodyType, present_match: true };

/** Calls of methods, by their paths: where they go when Envoy knows the caller, and when he is anonymous. */
interface Calls {
  readonly match: Message;
  readonly known: string;
  readonly anonymous: string;
  /** A call without a deadline but its caller's. */
  readonly isEndless?: true;
  /**
   * A read without a response after the delay is also sent to a second server, in case the first hangs. The caller gets
   * the first response, so a slow one is not lost. A read is retried if its server fails.
   */
  readonly isHedged?: true;
}

/** What would have a meaning in the call that a REST request becomes. */
const GRPC_HEADERS = ['grpc-encoding', 'grpc-accept-encoding'];
const NO_DEADLINE = { request_headers_to_remove: ['grpc-timeout', ...GRPC_HEADERS] };

const CALLS: readonly Calls[] = [
  // Their callers have slots of their own: they wait nearly all of the time. What is unread must fit into a small
  // window, also that of an anonymous caller: the key may be valid.
  { match: anyOf(EVENT_STREAMS), known: CLUSTERS.feeds, anonymous: CLUSTERS.open, isEndless: true },
  { match: anyOf(READS), known: CLUSTERS.calls, anonymous: CLUSTERS.anonymous, isHedged: true },
  // Anonymous callers have slots of their own, so they can't take the slots of callers with an API key.
  { match: { prefix: API_PREFIX }, known: CLUSTERS.calls, anonymous: CLUSTERS.anonymous },
];

export function routes(config: EdgeConfig): Message {
  const { corsOrigins } = config;
  return {
    name: 'public',
    virtual_hosts: [
      {
        name: 'public',
        domains: ['*'],
        request_headers_to_remove: UNREAD_HEADERS,
        typed_per_filter_config:
          corsOrigins.length > 0 ? { 'envoy.filters.http.cors': corsPolicy(corsOrigins) } : undefined,
        routes: [
          ...CALLS.flatMap((calls) => converted(config, calls)),
          ...convertedWithoutKey(),
          ...KINDS.flatMap((kind) => arrived(config, kind)),
        ],
      },
    ],
  };
}

/** Calls that a filter has converted from REST or Connect. Their callers are known by now, and their bodies. */
function converted(config: EdgeConfig, calls: Calls): readonly Message[] {
  const call = { request_body_buffer_limit: MAX_HELD_BYTES, route: toMethod(config, calls, calls.known) };
  // With the deadline the server stops work when the caller no longer waits. A REST caller can't choose it.
  const deadline = (append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' | 'ADD_IF_ABSENT') => ({
    request_headers_to_add: [header('grpc-timeout', grpcTimeout(CALL_TIMEOUT_MS), append_action)],
  });
  return [
    {
      match: { ...calls.match, headers: [REST_HEADER] },
      ...filterMetadata('edge', 'rest'),
      request_headers_to_remove: GRPC_HEADERS,
      ...(calls.isEndless ? NO_DEADLINE : deadline('OVERWRITE_IF_EXISTS_OR_ADD')),
      ...call,
    },
    {
      match: { ...calls.match, headers: [CONNECT_HEADER] },
      ...filterMetadata('edge', 'connect'),
      request_headers_to_remove: GRPC_HEADERS,
      ...deadline('ADD_IF_ABSENT'),
      ...call,
    },
  ];
}

/** These have slots of their own. */
function convertedWithoutKey(): readonly Message[] {
  const open = { ...filterMetadata('nobody', 'rest'), ...NO_DEADLINE };
  return [
    {
      match: { ...anyOf(PROBE_METHODS), headers: [REST_HEADER] },
      ...open,
      route: { cluster: CLUSTERS.health, timeout: '2s' },
    },
    {
      match: { ...anyOf(FILE_METHODS), headers: [REST_HEADER] },
      ...open,
      route: { cluster: CLUSTERS.open, timeout: '0s', idle_timeout: '30s' },
    },
  ];
}

/**
 * The CORS filter needs a route to a cluster. This one is to the cluster that a header names, and to none: no request
 * has the header when it arrives, and a filter that sets it selects another route.
 */
const NOWHERE = { cluster_header: EDGE_HEADERS.connect, cluster_not_found_response_code: 'NOT_FOUND' };

/** Requests as they arrive. */
function arrived(config: EdgeConfig, kind: Kind): readonly Message[] {
  if (kind.to === 'method') return grpcCalls(config, kind);
  const learned = [...when(kind.without.rest === undefined, BODY_READ), ANONYMOUS];
  return kind.matches.flatMap((match: RouteMatch) => [
    ...when(kind.judge === 'edge', ...learned).map((header) => ({
      match: { ...match, headers: [header, ...(match.headers ?? [])] },
      ...ofKind(kind, MAX_HELD_BYTES),
      request_body_buffer_limit: MAX_HELD_BYTES,
      ...targetOf(kind),
    })),
    { match, ...ofKind(kind), ...targetOf(kind) },
  ]);
}

function targetOf({ to, judge }: Kind): Message {
  if (typeof to !== 'string') return to;
  if (to === 'open') return { route: { cluster: CLUSTERS.open, timeout: '0s', idle_timeout: '0s' } };
  // Without a key nobody may hold a stream for long by a body that does not come.
  return { route: { ...NOWHERE, idle_timeout: judge === 'nobody' ? '5s' : undefined } };
}

/** Calls over gRPC and gRPC-Web, in the order of their routes. */
function grpcCalls(config: EdgeConfig, kind: Kind): readonly Message[] {
  const headers = kind.matches.flatMap((match) => match.headers ?? []);
  // From the headers of a request to the end of its response: the deadline includes the time for the body.
  const deadline = [header('grpc-timeout', grpcTimeout(BODY_TIMEOUT_MS + CALL_TIMEOUT_MS), 'ADD_IF_ABSENT')];
  // The server judges and counts calls of anything else, and responds UNIMPLEMENTED: the slash at the end makes each
  // path one that it does not have, also that of an internal method.
  const unknown = { match: { prefix: '/' }, known: CLUSTERS.calls, anonymous: CLUSTERS.anonymous };
  const regex_rewrite = { pattern: { regex: '^[^?]*' }, substitution: '\\0/' };
  return [...CALLS, unknown].flatMap((calls: Calls) =>
    [ANONYMOUS, undefined].map((anonymous) => ({
      match: { ...calls.match, headers: anonymous ? [anonymous, ...headers] : headers },
      ...ofKind(kind),
      request_headers_to_add: calls.isEndless ? undefined : deadline,
      route: {
        ...toMethod(config, calls, anonymous ? calls.anonymous : calls.known),
        regex_rewrite: calls === unknown ? regex_rewrite : undefined,
      },
    })),
  );
}

function toMethod(config: EdgeConfig, { isEndless, isHedged }: Calls, cluster: string): Message {
  const timeout = seconds(isEndless ? 0 : CALL_TIMEOUT_MS);
  if (!isHedged) return { cluster, timeout, retry_policy: RETRY_POLICY };
  const per_try_timeout = seconds(hedgeDelayMs(config));
  return {
    cluster,
    timeout,
    retry_policy: { ...RETRY_POLICY, retry_on: HEDGED_RETRY_ON, per_try_timeout },
    hedge_policy: { hedge_on_per_try_timeout: true },
  };
}

/** A timeout in the header of gRPC. */
function grpcTimeout(ms: number): string {
  return `${ms / 1_000}S`;
}
