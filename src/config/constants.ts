/**
 * What is fixed: how much and how long a request may be (the contract's sections 2 and 9; Envoy and the server hold callers
 * to the same), and what the processes say of themselves.
 */
import { readFileSync } from 'node:fs';

/** The largest body of a REST request, and the largest gRPC message. */
export const MAX_BODY_BYTES = 65_536;

/** How long after its headers a request must have arrived whole. */
export const BODY_TIMEOUT_MS = 30_000;

/** How long a call may take once it has arrived. */
export const CALL_TIMEOUT_MS = 15_000;

/**
 * What an idempotency key is: visible ASCII but the comma, which joins the values of a header that is there twice
 * (RFC 9110, section 5.3).
 */
export const IDEMPOTENCY_KEY = /^[\x21-\x2b\x2d-\x7e]{1,255}$/;

/**
 * How a server ends that can't start now and may later: the database is away, the disk is full. `EX_TEMPFAIL` of BSD's
 * sysexits.h.
 */
export const EXIT_TEMPORARY_FAILURE = 75;

/** The release: that of package.json. */
export function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
