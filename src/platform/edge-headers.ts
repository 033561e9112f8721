/**
 * The headers that Envoy and the server exchange about a request. Envoy's configuration and the Lua filters get the
 * names from here. Envoy removes these headers from the requests of callers, and from the responses to them.
 */
import { NAME } from '../identity.ts';
import type { Call } from './rpc/chain.ts';

export const EDGE_HEADERS = {
  /** To the server: EDGE_SECRET, the proof that the request comes from Envoy. */
  edge: `x-${NAME}-edge`,
  /** To the server, for a request with a body: `=` and its content type; `=` when it has none. */
  bodyType: `x-${NAME}-body-type`,
  /** To the routes and the server: the caller speaks the Connect protocol. In a question `grpc`, if he speaks that. */
  connect: `x-${NAME}-connect`,
  /** To the routes and the server: Envoy did not know the caller's key to be valid when the request came. */
  anonymous: `x-${NAME}-anonymous`,
  /**
   * From the server, for an anonymous caller: the key is valid and within its limits. The value is its permission. For
   * a caller beyond his limits: the seconds until he may come again, and his Authorization header.
   */
  accepted: `x-${NAME}-accepted`,
  /** From the server, for files and HEAD: the length of the body in bytes; for HEAD, that of the GET. */
  length: `x-${NAME}-length`,
  /** From the server, for the access log: the account and the key of the caller, by id. */
  account: `x-${NAME}-account`,
  key: `x-${NAME}-key`,
  /** From the server, for the access log: the code of an error, and the gRPC status as a number. */
  code: `x-${NAME}-code`,
  grpcStatus: `x-${NAME}-grpc-status`,
  /** Within Envoy: a local reply that the server is asked to word. */
  refused: `x-${NAME}-refused`,
} as const;

/** Takes the place of a Host that HTTP/2 does not allow. No host has this name (RFC 2606). */
export const BAD_HOST = 'host.invalid';

/** True for a HEAD request over REST: its response has no body. */
export function isHead(call: Pick<Call, 'header'>): boolean {
  return call.header(ORIGINAL_METHOD) === 'HEAD';
}

/** Set by Envoy's transcoder: the path as the caller sent it. */
export const ORIGINAL_PATH = 'x-envoy-original-path';
/** Set by Envoy's transcoder: the HTTP method. */
const ORIGINAL_METHOD = 'x-envoy-original-method';
