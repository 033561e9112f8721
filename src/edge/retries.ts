/** What Envoy sends a second time: only what no server can have begun, and to another one, where there is one. */
export const RETRIES = { on: 'connect-failure,refused-stream,reset-before-request', times: 2 } as const;

/**
 * After so long a read is sent to a second server as well, and the first response is the caller's: the first server may
 * be frozen. One that is only slow may still answer first. A write is never sent twice.
 */
export const SECOND_READ_MS = 1_500;
