/** What Envoy sends a second time: only what no server can have begun, and to another one, where there is one. */
export const RETRIES = { on: 'connect-failure,refused-stream,reset-before-request', times: 2 } as const;
