/**
 * The configuration of Envoy in front of the gRPC servers: REST/JSON, native gRPC, gRPC-Web and Connect on one port.
 *
 * The launcher writes it as YAML (src/platform/launcher/envoy.ts). A comment explains each difference from
 * Envoy's best practices for edge proxies:
 * https://www.envoyproxy.io/docs/envoy/latest/configuration/best_practices/edge
 */
import { NAME } from '../../src/identity.ts';
import type { EdgeConfig } from '../../src/platform/config/config.ts';
import { SPAN_FLUSH_MS } from '../../src/platform/config/times.ts';
import { adminCluster, serverClusters, tracesCluster } from './clusters.ts';
import { publicListener, redirectListener, statisticsListener } from './listeners.ts';
import { type Message, UNLIMITED, when } from './message.ts';
import { overloadManager } from './overload.ts';
import type { Files } from './servers.ts';

/**
 * A worker that handles nothing for so long hangs: Envoy ends, and the launcher starts it again. The launcher itself
 * sees only the main thread. A process that was frozen for longer may end too: in 1 of 38 freezes beyond the timeout.
 */
const WORKER_TIMEOUT = '20s';

export function bootstrap(config: EdgeConfig, files: Files): Message {
  const { tls, internalTls, traces, servers, httpPort, trustedProxies } = config;
  // This interface can change and stop Envoy. Only the owner of the socket, who also runs the launcher, can open it.
  // The listener "statistics" makes the statistics readable.
  const admin = { pipe: { path: files.adminSocket, mode: 0o600 } };
  return {
    // Envoy requires an id to read certificates from files.
    node: tls || internalTls ? { id: NAME, cluster: NAME } : undefined,
    admin: { address: admin },
    layered_runtime: {
      layers: [
        {
          name: 'bounds',
          static_layer: {
            // The patterns of routes are our own.
            're2.max_program_size.error_level': 10_000,
            // A connection may have sent hundreds that it has reset at once. One begins before others have their turn.
            'http.max_requests_per_io_cycle': 1,
            // Envoy closes a connection that resets half of so many within a second. A proxy's has many callers, one
            // of whom could end the calls of all others.
            'overload.premature_reset_total_stream_count': trustedProxies.length > 0 ? UNLIMITED : 40,
            // It compares whole seconds. By itself a call with a deadline of one or nearly two seconds would count.
            'overload.premature_reset_min_stream_lifetime_seconds': 0,
          },
        },
        ...when(traces !== undefined, {
          name: 'traces',
          // Spans are sent after SPAN_FLUSH_MS, or earlier in batches of this size.
          static_layer: {
            'tracing.opentelemetry.min_flush_spans': 256,
            'tracing.opentelemetry.flush_interval_ms': SPAN_FLUSH_MS,
          },
        }),
        // An edge without the launcher's own servers adjusts max_requests when servers come and go.
        ...when(servers !== undefined, { name: 'edge', admin_layer: {} }),
      ],
    },
    overload_manager: overloadManager(),
    watchdogs: { worker_watchdog: { kill_timeout: WORKER_TIMEOUT } },
    static_resources: {
      listeners: [
        publicListener(config, files),
        ...(httpPort === undefined ? [] : [redirectListener(config, httpPort)]),
        statisticsListener(config),
      ],
      clusters: [
        ...serverClusters(config, files),
        ...(traces === undefined ? [] : [tracesCluster(traces)]),
        adminCluster(admin),
      ],
    },
  };
}
