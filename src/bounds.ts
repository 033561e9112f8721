/** How much and how long a request may be: the contract's section 2. Envoy and the server hold callers to the same. */

/** The largest body of a REST request, and the largest gRPC message. */
export const MAX_BODY_BYTES = 65_536;

/** How long after its headers a request must have arrived whole. */
export const BODY_TIMEOUT_MS = 30_000;

/** How long a call may take once it has arrived. */
export const CALL_TIMEOUT_MS = 15_000;
