/**
 * The headers by which Envoy and the server speak of a REST or Connect request. Each name stands here alone: envoy.yaml and the
 * Lua filter have them from here. Envoy takes them from callers on the way in, and from answers on the way out.
 */
export const EDGE_HEADERS = {
  /** To the server, set when a request has a body: its content type, empty when none was given. */
  bodyType: 'x-petstore-body-type',
  /** To the server, which grpc-js would not let see the caller's own: which encodings of a file are welcome. */
  acceptEncoding: 'x-petstore-accept-encoding',
  /** To the routes and the server: the caller speaks the Connect protocol. */
  connect: 'x-petstore-connect',
  /** To the routes and the server: the caller has shown no key of which Envoy knows that it is valid. */
  stranger: 'x-petstore-stranger',
  /** From the server, to a stranger: the key is valid, and within its limits. */
  accepted: 'x-petstore-accepted',
  /** From the server: how many bytes of a file it sends. */
  length: 'x-petstore-length',
  /** From the server: the caller has the answer already (304). */
  notModified: 'x-petstore-not-modified',
  /** From the server: the body of an error for a REST or Connect caller, as ASCII JSON. */
  error: 'x-petstore-error',
  /**
   * From the server, on an answer to a REST or Connect request. Envoy puts into it what its filter must know: HTTP
   * method, gRPC path and path of a REST request, or CONNECT and gRPC path. On a reply of Envoy's own there is none.
   */
  request: 'x-petstore-request',
  /** From the server, for the access log: the account and the id of the key that a request came with. */
  account: 'x-petstore-account',
  key: 'x-petstore-key',
  /** From the server, for the access log: the code of an error. */
  code: 'x-petstore-code',
  /** Within Envoy, on a reply of its own that the server is to word. */
  refused: 'x-petstore-refused',
} as const;

/** Set by Envoy's transcoder: the path as the caller sent it. */
export const ORIGINAL_PATH = 'x-envoy-original-path';
/** Set by Envoy's transcoder: the HTTP method. */
export const ORIGINAL_METHOD = 'x-envoy-original-method';
