/**
 * What Envoy and the server say to each other of a request. Both have the names from here, Lua by envoy/config/lua.ts.
 * Envoy removes these headers from what callers send, and from what they get. The names stay: in an upgrade new servers
 * work with old edges.
 */
import { NAME } from '../identity.ts';
import type { Call } from './rpc/chain.ts';

const named = (name: string) => `x-${NAME}-${name}`;

/** To the server: what decides there, and which route Envoy takes. No caller may send them. */
const TO_SERVER_HEADERS = {
  /** EDGE_SECRET: that a connection is an edge. Within Envoy: that the filters have seen a request. */
  edge: named('edge'),
  /** `=` and the content type of a body: a 400; the route with room for a longer body. */
  bodyType: named('body-type'),
  /** That the caller speaks Connect: the route, the shape of the response. In a question `grpc`, if he speaks that. */
  connect: named('connect'),
  /** That the caller is anonymous (keys.lua), or was until now: slots of gRPC, room for a body of REST, `accepted`. */
  anonymous: named('anonymous'),
};

export const TO_SERVER = Object.values(TO_SERVER_HEADERS);

export const EDGE_HEADERS = {
  ...TO_SERVER_HEADERS,
  // To Envoy.
  /** The permission of a key that Envoy does not know: the key is valid, and known for a minute. */
  accepted: named('accepted'),
  /** The Authorization of a caller beyond his limits: until Retry-After he is judged before his body is read. */
  limited: named('limited'),
  /** The Content-Length of a response to HEAD, which is that of the GET. */
  length: named('length'),
  /** The code of an error: the answer to a question is one; a reply is whole, so nobody is asked; the log. */
  code: named('code'),
  /** The id of the account in the log. With `accepted`, whose large bodies count as one. */
  account: named('account'),
  /** The id of the key in the log; that no status is a success. */
  key: named('key'),
  /** The status of gRPC in the log, which HTTP has not. */
  grpcStatus: named('grpc-status'),
  // Within Envoy, of a local reply: the request that it refuses, for the filter that asks the server for the words.
  refused: named('refused'), // the method
  refusedKind: named('refused-kind'), // who judges the caller, and the shape of the error
  refusedPath: named('refused-path'), // with its query
  refusedAuthorization: named('refused-authorization'),
  refusedForwardedFor: named('refused-forwarded-for'),
  refusedRequestId: named('refused-request-id'), // by which a request that is asked about again counts once
  refusedContentType: named('refused-content-type'), // as `bodyType`
  refusedFinding: named('refused-finding'), // what rest.lua has found in the body, and where
  refusedType: named('refused-type'), // the content type of a reply over gRPC, which Envoy drops
};

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
