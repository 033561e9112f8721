/**
 * The headers by which Envoy and the server speak of a REST or Connect request. Each name stands here alone: envoy.yaml
 * and the Lua filter have them from here. Envoy takes them from callers on the way in, and from responses on the way
 * out.
 */
import type { Metadata } from '@grpc/grpc-js';
import { headerOf } from '../interceptors/metadata.ts';

export const EDGE_HEADERS = {
  /** To the server, set when a request has a body: its content type, empty when none was given. */
  bodyType: 'x-petstore-body-type',
  /** To the server, which grpc-js would not let see the caller's own: which encodings of a file are welcome. */
  acceptEncoding: 'x-petstore-accept-encoding',
  /** To the routes and the server: the caller speaks the Connect protocol. */
  connect: 'x-petstore-connect',
  /** To the routes and the server: Envoy does not know the caller's key to be valid. */
  anonymous: 'x-petstore-stranger',
  /** From the server, to an anonymous caller: the key is valid, and within its limits. */
  accepted: 'x-petstore-accepted',
  /** From the server, on a file and on a response to HEAD: how many bytes the body has, or would have. */
  length: 'x-petstore-length',
  /** From the server, for the access log: the account and the id of the key that a request came with. */
  account: 'x-petstore-account',
  key: 'x-petstore-key',
  /** From the server, for the access log: the code of an error, and its gRPC status, as a number. */
  code: 'x-petstore-code',
  grpcStatus: 'x-petstore-grpc-status',
  /** Within Envoy, on a reply of its own that the server is to word, and on one that it has worded already. */
  refused: 'x-petstore-refused',
  worded: 'x-petstore-worded',
} as const;

/** Whether a REST request is HEAD: its response has no body. */
export function isHead(call: { readonly metadata: Metadata }): boolean {
  return headerOf(call, ORIGINAL_METHOD) === 'HEAD';
}

/** Set by Envoy's transcoder: the path as the caller sent it. */
export const ORIGINAL_PATH = 'x-envoy-original-path';
/** Set by Envoy's transcoder: the HTTP method. */
const ORIGINAL_METHOD = 'x-envoy-original-method';
