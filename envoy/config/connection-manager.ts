/** How Envoy speaks HTTP with callers: what it accepts, its timeouts, and what it knows of a caller. */
import { isIPv4 } from 'node:net';
import { NAME } from '../../src/identity.ts';
import type { EdgeConfig, Network } from '../../src/platform/config/config.ts';
import { MAX_BODY_BYTES } from '../../src/platform/config/constants.ts';
import { EDGE_SILENCE_MS } from '../../src/platform/config/times.ts';
import { TO_SERVER } from '../../src/platform/edge-headers.ts';
import { accessLogs } from './access-log.ts';
import { httpFilters } from './filters.ts';
import { localReplies } from './local-replies.ts';
import { EDGE_BODY_TIMEOUT_MS, MAX_TYPE } from './lua.ts';
import { extension, header, type Message, seconds, UNLIMITED, when } from './message.ts';
import { MAX_HEADERS_KB } from './overload.ts';
import { routes } from './routes.ts';
import type { Files } from './servers.ts';
import { tracing } from './tracing.ts';

const IP_DETECTION = 'envoy.extensions.http.original_ip_detection.xff.v3.XffConfig';
const EARLY_MUTATION = 'envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation';

/** How many requests a connection of HTTP/2 may have open. */
const MAX_STREAMS = 100;

/** How long a caller's connection may be idle. */
const IDLE_TIMEOUT = '10s';
/**
 * How long a trusted proxy's connection may be idle: longer than the proxy itself keeps it, so that the proxy sends no
 * request on a connection that Envoy is closing. (Google's load balancers keep one for 600 s, others for about 60 s.)
 */
const PROXY_IDLE_TIMEOUT = '620s';

/**
 * How long a connection stays open after a response to an unfinished request, so that its caller can read it. Until
 * then it holds what was read of the body: up to 80 KB, for as many refusals as one host can provoke in this time.
 */
const DELAYED_CLOSE = '0.25s';

export function connectionManager(stat_prefix: string, fields: Message): Message {
  return extension(
    'envoy.filters.network.http_connection_manager',
    'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    { stat_prefix, delayed_close_timeout: DELAYED_CLOSE, ...fields },
  );
}

export function publicConnectionManager(config: EdgeConfig, files: Files): Message {
  const { trustedProxies, proxyProtocol, traces } = config;
  const hasProxies = trustedProxies.length > 0;
  return connectionManager('public', {
    codec_type: 'AUTO',
    ...callerAddress(trustedProxies),
    skip_xff_append: true, // edge.boundary sets it
    normalize_path: true, // slashes are neither merged nor unescaped: an id is one segment of the path
    common_http_protocol_options: {
      idle_timeout: hasProxies && !proxyProtocol ? PROXY_IDLE_TIMEOUT : IDLE_TIMEOUT,
      max_headers_count: 100,
    },
    http_protocol_options: {
      allow_chunked_length: false,
      // An unknown method passes authentication and gets a 405, rather than a 400 for invalid HTTP. Envoy warns at each
      // start that this is outside of its threat model. What Envoy does with a method is route by it, which the
      // filters and the server do in its place; tests and the fuzz send odd ones. docs/edge.md says so to operators.
      allow_custom_methods: true,
      // The server decides the status of old and unusual requests too.
      accept_http_10: true,
      default_host_for_http_10: NAME,
      ignore_http_11_upgrade: [{ safe_regex: { regex: '.*' } }],
    },
    http2_protocol_options: {
      // A proxy's connection carries many callers' requests: an invalid request ends only its own stream.
      override_stream_error_on_invalid_http_message: hasProxies ? true : undefined,
      max_concurrent_streams: MAX_STREAMS,
      initial_stream_window_size: MAX_BODY_BYTES,
      // On a proxy's connection the body of one caller must not wait for those of others that are not read now.
      initial_connection_window_size: hasProxies ? MAX_STREAMS * MAX_BODY_BYTES : 262_144,
      // By itself nghttp2 closes a connection that resets 33 requests a second, after a burst of 1,000.
      ...(hasProxies ? { stream_reset_burst: UNLIMITED, stream_reset_rate: UNLIMITED } : {}),
    },
    max_request_headers_kb: MAX_HEADERS_KB,
    request_headers_timeout: '10s',
    request_timeout: seconds(EDGE_BODY_TIMEOUT_MS),
    stream_idle_timeout: seconds(EDGE_SILENCE_MS),
    // A caller who reads nothing of a response for so long. A refusal holds its stream meanwhile (overload.ts).
    stream_flush_timeout: '10s',
    // The time between GOAWAY and the end of an idle HTTP/2 connection.
    drain_timeout: '2s',
    always_set_request_id_in_response: true, // Envoy makes the id by itself, a new one for what comes from outside
    tracing: traces && tracing(traces),
    server_name: NAME,
    early_header_mutation_extensions: [
      extension('envoy.http.early_header_mutation.header_mutation', EARLY_MUTATION, {
        mutations: earlyMutations(hasProxies, traces !== undefined),
      }),
    ],
    access_log: accessLogs(config, files.accessLog),
    local_reply_config: { mappers: localReplies(config) },
    http_filters: httpFilters(config, files),
    route_config: routes(config),
  });
}

/**
 * The caller's address is that of the connection. On a trusted proxy's connection, it is the last address in
 * X-Forwarded-For that is not a trusted proxy.
 */
function callerAddress(proxies: readonly Network[]): Message {
  if (proxies.length === 0) return { use_remote_address: true };
  const trusted = { xff_trusted_cidrs: { cidrs: proxies.flatMap(toRanges) }, skip_xff_append: true };
  return {
    use_remote_address: false,
    original_ip_detection_extensions: [extension('envoy.http.original_ip_detection.xff', IP_DETECTION, trusted)],
  };
}

/**
 * Envoy reads at most 20 addresses in X-Forwarded-For: with more, the caller would count as the proxy, and use up the
 * allowance of its health checks. Such callers share an address that nobody has (RFC 5737).
 */
const TOO_MANY_ADDRESSES =
  "%CEL('x-forwarded-for' in request.headers && " +
  "request.headers['x-forwarded-for'].matches('(,\\\\C*){20}') ? '192.0.2.0' : '')%";

/** An IPv4 network, as IPv6 too: a proxy that listens on both may write ::ffff:192.0.2.1. */
export function toRanges({ address, bits }: Network): Message[] {
  const range = { address_prefix: address, prefix_len: bits };
  return isIPv4(address) ? [range, { address_prefix: `::ffff:${address}`, prefix_len: 96 + bits }] : [range];
}

function earlyMutations(hasProxies: boolean, isTraced: boolean): readonly Message[] {
  return [
    // Only Envoy and its filters may set these.
    ...TO_SERVER.map((remove) => ({ remove })),
    { remove_on_match: { key_matcher: { prefix: 'x-envoy-' } } },
    // Each of the routes looks through it: 20 KB would cost as much as ten refusals.
    { append: header('content-type', `%REQ(CONTENT-TYPE):${MAX_TYPE}%`, 'OVERWRITE_IF_EXISTS') },
    // Each span would contain the caller's text.
    ...when(isTraced, { remove: 'tracestate' }),
    // Envoy removes these itself when it uses the connection's address.
    ...when(hasProxies, { remove: 'x-request-id' }, { remove: 'x-forwarded-proto' }),
    // Nothing if it is empty.
    ...when(hasProxies, { append: header('x-forwarded-for', TOO_MANY_ADDRESSES, 'OVERWRITE_IF_EXISTS_OR_ADD') }),
  ];
}
