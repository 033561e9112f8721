/**
 * The limits on the number and the size of connections and streams bound the memory. A connection with unfinished
 * headers holds them and 26 KB, of HTTP/2 42 KB: with what Envoy needs itself that is 59 % of the heap for all
 * connections together. From 60 % on Envoy closes connections that send requests. What is left is the second line of
 * defence: the closer the heap comes to its limit, the sooner idle connections and streams end.
 */
import { HEARTBEAT_MS } from '../../src/platform/config/times.ts';
import { extension, type Message, seconds } from './message.ts';

const MONITORS = 'envoy.extensions.resource_monitors';
const HEAP = 'envoy.resource_monitors.fixed_heap';
const CONNECTIONS = 'envoy.resource_monitors.global_downstream_max_connections';

/** The largest headers of a request: 24 KiB. */
export const MAX_HEADERS_KB = 24;
const MAX_CONNECTIONS = 3_500;
const MAX_HEAP_BYTES = 384 * 1_048_576;

export function overloadManager(): Message {
  return {
    // A flood takes some 100 MiB in 0.1 s.
    refresh_interval: '0.01s',
    buffer_factory_config: { minimum_account_to_track_power_of_two: 14 },
    resource_monitors: [
      extension(HEAP, `${MONITORS}.fixed_heap.v3.FixedHeapConfig`, { max_heap_size_bytes: MAX_HEAP_BYTES }),
      extension(CONNECTIONS, `${MONITORS}.downstream_connections.v3.DownstreamConnectionsConfig`, {
        max_active_downstream_connections: MAX_CONNECTIONS,
      }),
    ],
    actions: [
      {
        ...extension(
          'envoy.overload_actions.reduce_timeouts',
          'envoy.config.overload.v3.ScaleTimersOverloadActionConfig',
          {
            timer_scale_factors: [
              { timer: 'HTTP_DOWNSTREAM_CONNECTION_IDLE', min_timeout: '2s' },
              // A stream of events is silent until its next heartbeat, and a call may wait for a slow database.
              { timer: 'HTTP_DOWNSTREAM_STREAM_IDLE', min_timeout: seconds(HEARTBEAT_MS + 5_000) },
              { timer: 'HTTP_DOWNSTREAM_STREAM_FLUSH', min_timeout: '1s' },
            ],
          },
        ),
        triggers: [scaled(HEAP, 0.4, 0.6), scaled(CONNECTIONS, 0.4, 0.8)],
      },
      { name: 'envoy.overload_actions.reset_high_memory_stream', triggers: [scaled(HEAP, 0.4, 0.7)] },
      // Always on: every 10 seconds it returns to the system what is free beyond 100 MiB.
      { name: 'envoy.overload_actions.shrink_heap', triggers: [from(0.001)] },
      { name: 'envoy.overload_actions.stop_accepting_connections', triggers: [from(0.95)] },
      { name: 'envoy.overload_actions.stop_accepting_requests', triggers: [from(0.98)] },
    ],
    // A response that its caller does not read holds 35 KB with its stream, and one connection has room for 100 of
    // them. Their timers end these (stream_flush_timeout), but slower than they may come: so connections that still
    // send requests are closed. Requests that have been read wait for their turn (bootstrap.ts) and are served then, so
    // Envoy begins well before its heap is full.
    loadshed_points: [
      {
        name: 'envoy.load_shed_points.http2_server_go_away_and_close_on_dispatch',
        triggers: [scaled(HEAP, 0.6, 0.63)],
      },
    ],
  };
}

/** The more of the resource is in use, the stronger the action. */
function scaled(name: string, scaling_threshold: number, saturation_threshold: number): Message {
  return { name, scaled: { scaling_threshold, saturation_threshold } };
}

/** From this share of the heap on. */
function from(value: number): Message {
  return { name: HEAP, threshold: { value } };
}
