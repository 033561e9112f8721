/** Constants that no setting changes: limits, which Envoy and the server share, and the version. times.ts has times. */
import { readFileSync } from 'node:fs';

/** The largest body of a REST request, and the largest gRPC message. */
export const MAX_BODY_BYTES = 65_536;

/**
 * A body has fewer DATA frames. Each costs Envoy 1 to 2 µs and the server up to one: this many, as two calls. The
 * largest body in packets of 440 bytes still passes.
 */
export const MAX_FRAMES = 150;

/** How deep the lists and objects of a JSON body may be, also in a member that is ignored. Protobuf's own limit. */
export const MAX_JSON_DEPTH = 100;

/** How many characters follow the prefix of an API key (src/platform/access/keys/format.ts). */
export const KEY_LENGTH = 38;

/**
 * How many open calls a server may have; Envoy refuses further ones at once. Measured on one core, at five times the
 * capacity: 512 gives 1.5 times as many responses as 256, because the slot of a completed call stays empty while Envoy
 * refuses others. Of 2,000 concurrent clients nearly all are served, with 256 some 1,700. On a core a ninth as fast p99
 * is 1.9 s; the bound is 2 s.
 */
export const MAX_CALLS_PER_SERVER = 512;

/**
 * The format of an idempotency key: visible ASCII without the comma, which joins the values of a repeated header (RFC
 * 9110, section 5.3).
 */
export const IDEMPOTENCY_KEY = /^[\x21-\x2b\x2d-\x7e]{1,255}$/;

/** The version of the software, in package.json: not that of the interface, which its description has. */
export function version(): string {
  const file = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** The longest path with its query: a hundred ids fill 2,500. To read 23 KB of escapes would take the server 6 ms. */
export const MAX_PATH_LENGTH = 8_192;
