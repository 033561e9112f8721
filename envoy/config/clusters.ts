/** Where Envoy sends requests: to the servers, for each kind of request with slots of its own; and two helpers. */
import { CLUSTERS } from '../../src/identity.ts';
import type { EdgeConfig, TracesConfig } from '../../src/platform/config/config.ts';
import { MAX_CALLS_PER_SERVER } from '../../src/platform/config/constants.ts';
import { HEALTH_CHECK } from '../../src/platform/config/times.ts';
import { EDGE_HEADERS, READINESS_SERVICE } from '../../src/platform/edge-headers.ts';
import { any, extension, header, literal, type Message, seconds } from './message.ts';
import { endpoints, type Files, listServers, serverTls } from './servers.ts';

const CLUSTER_TYPE = extension('envoy.cluster.dns', 'envoy.extensions.clusters.dns.v3.DnsCluster', {
  // Names are resolved every five seconds, and sooner after a failure, which leaves the known addresses in use.
  dns_refresh_rate: '5s',
  dns_failure_refresh_rate: { base_interval: '1s', max_interval: '5s' },
  dns_lookup_family: 'V4_PREFERRED',
});

const MIB = 1_048_576;
const CONNECTION = {
  initial_connection_window_size: 256 * MIB,
  // Envoy closes a connection on which more frames wait to be sent. One caller can send thousands at once: bytes in a
  // frame each, or calls that end at once. The windows and slots bound what waits.
  max_outbound_frames: 1_000_000,
  max_outbound_control_frames: 1_000_000,
};
/**
 * Nearly every response fits into its stream's window, so the server finishes it however slowly the caller reads. An
 * unread response fills only its own window: the connection's window has room for 1,024 of them.
 */
const CALL_WINDOWS = { ...CONNECTION, initial_stream_window_size: MIB / 4 };
/** Unread responses fill only their own windows: the connection's window has room for 4,096 of them. */
const SMALL_WINDOWS = { ...CONNECTION, initial_stream_window_size: MIB / 16 };

/** What a cluster may have open at most: Envoy's own defaults would let one kind of request take what others need. */
interface Bounds extends Message {
  readonly max_connections: number;
  readonly max_pending_requests: number;
  readonly max_requests: number;
}

/** Their configuration. */
export function serverClusters(config: EdgeConfig, files: Files): readonly Message[] {
  const maxCalls = MAX_CALLS_PER_SERVER * listServers(config).length;
  const manyStreams = { max_connections: 64, max_pending_requests: 16_384, max_requests: 16_384, max_retries: 16 };
  // More than the server ever sends. Envoy resets a stream over the limit while it reads the headers. A call from the
  // Lua filter to the server at that point would crash Envoy.
  const calls = http2(CALL_WINDOWS, { common_http_protocol_options: { max_response_headers_kb: 1024 } });
  const servers = (name: string, bounds: Bounds, options: Message): Message => ({
    name,
    cluster_type: CLUSTER_TYPE,
    connect_timeout: '1s',
    transport_socket_matches: serverTls(config, files),
    // Envoy never sends a request to an unhealthy server: an immediate 503 is better than a slow one. A health check's
    // result applies at once, not up to a second later: a server that drains must get no new calls.
    common_lb_config: { healthy_panic_threshold: { value: 0 }, update_merge_window: '0s' },
    health_checks: [healthCheck(config)],
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: endpoints(config) }] },
    lb_policy: 'LEAST_REQUEST',
    circuit_breakers: { thresholds: [bounds] },
    typed_extension_protocol_options: options,
  });
  const slots = {
    max_connections: 1024,
    max_pending_requests: maxCalls,
    // Calls in progress. More are rejected at once: a late response is useless to the caller, and costs the server
    // time that other calls need.
    max_requests: maxCalls,
    // Only calls that no server has begun are retried, and unreachable servers are soon known. With a lower limit
    // calls would fail with their server though another one could serve them.
    max_retries: 1024,
  };
  return [
    servers(CLUSTERS.calls, slots, calls),
    // For streams of events. The server limits how many of them an account has open.
    servers(CLUSTERS.feeds, manyStreams, http2(SMALL_WINDOWS)),
    // For anonymous callers. The server rejects at once all but those with a valid key that Envoy does not know yet, or
    // that is about to be checked again.
    servers(CLUSTERS.anonymous, manyStreams, calls),
    // For requests that need no API key. The server limits how many of them an address has open.
    servers(CLUSTERS.open, manyStreams, http2(SMALL_WINDOWS)),
    // For /healthz, which takes no slot of a caller, and for which no caller takes a slot.
    servers(CLUSTERS.health, manyStreams, calls),
  ];
}

function http2(windows: Message, more: Message = {}): Message {
  const name = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
  return { [name]: any(name, { ...more, explicit_http_config: { http2_protocol_options: windows } }) };
}

function healthCheck({ edgeSecret }: EdgeConfig): Message {
  return {
    timeout: seconds(HEALTH_CHECK.timeoutMs),
    interval: seconds(HEALTH_CHECK.intervalMs),
    no_traffic_interval: seconds(HEALTH_CHECK.intervalMs),
    // A recovered server is used again soon.
    unhealthy_interval: '0.25s',
    // One slow response on a busy machine is not an outage.
    unhealthy_threshold: HEALTH_CHECK.unhealthyThreshold,
    healthy_threshold: 1,
    // Not the service whose health callers see: a draining server reports here that it takes no new calls.
    grpc_health_check: {
      service_name: READINESS_SERVICE,
      initial_metadata: [header(EDGE_HEADERS.edge, literal(edgeSecret))],
    },
  };
}

/** The collector of traces. Spans that it is too busy for are dropped. */
export function tracesCluster({ endpoint }: TracesConfig): Message {
  const { hostname, port } = new URL(endpoint);
  const address = { address: hostname.replace(/^\[|\]$/g, ''), port_value: port === '' ? 80 : Number(port) };
  return helper('traces', 'STRICT_DNS', { socket_address: address }, 8);
}

/** Envoy's own admin interface, for the statistics. A single thread serves it. */
export function adminCluster(address: Message): Message {
  return helper('admin', 'STATIC', address, 16);
}

function helper(name: string, type: 'STRICT_DNS' | 'STATIC', address: Message, max_requests: number): Message {
  return {
    name,
    type,
    connect_timeout: '1s',
    circuit_breakers: { thresholds: [{ max_connections: 2, max_pending_requests: max_requests, max_requests }] },
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
  };
}
