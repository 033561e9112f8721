/**
 * Times that more than one place keeps: servers, launcher, Envoy's configuration, scripts in Redis. What must outlast
 * another one is made from it, so that no change of one breaks the other.
 */

/** How long the body of a request may take after the headers. */
export const BODY_TIMEOUT_MS = 30_000;
/** How long a call may take after the whole request has arrived. */
export const CALL_TIMEOUT_MS = 15_000;
/** How long what was decided on a request is kept: the edge may send it again until it gives up. */
export const REPEATED_MS = CALL_TIMEOUT_MS + 5_000;

/** How long open calls may take when a server or the service stops. */
export const DRAIN_MS = 10_000;
/** How much longer a process may take to close its files. */
export const CLOSE_MS = 2_000;

/** How often Envoy sends its spans. It drops those of the last moment when it exits. */
export const SPAN_FLUSH_MS = 500;
/** How long an Envoy that stops is left to send them. */
export const LAST_SPANS_MS = SPAN_FLUSH_MS + 200;

/** Envoy's checks of a server: a frozen one is known after 4 s at most, a busy one responds within the timeout. */
export const HEALTH_CHECK = { timeoutMs: 1_500, intervalMs: 500, unhealthyThreshold: 2 } as const;
/** After so long every edge has seen that a server takes no new calls, also an edge on a busy machine. */
export const EDGES_KNOW_MS =
  HEALTH_CHECK.unhealthyThreshold * (HEALTH_CHECK.timeoutMs + HEALTH_CHECK.intervalMs) + 1_000;

/** A stream on which nothing happens gets a checkpoint this often. */
export const HEARTBEAT_MS = 15_000;
/** Envoy keeps no stream that is silent for longer, unless its route says otherwise. */
export const EDGE_SILENCE_MS = 3 * HEARTBEAT_MS;
/** The client takes it for lost: before Envoy does. */
export const CLIENT_SILENCE_MS = 2 * HEARTBEAT_MS + 5_000;

/** How often servers tell each other how many streams of events an account has. */
export const TELL_STREAMS_MS = 3_000;
/** How long that is believed: a server on a busy machine may be late twice. */
export const STREAMS_KEPT_MS = 3 * TELL_STREAMS_MS + 1_000;
