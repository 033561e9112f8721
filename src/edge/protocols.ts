/** The protocols of callers, and what the headers of a call tell about its caller. */
import { timingSafeEqual } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';
import type { Connection, Origin } from '../grpc/call.ts';
import { toStatus } from '../grpc/status.ts';
import { addressOf } from '../interceptors/address.ts';
import { headerOf } from '../interceptors/metadata.ts';
import type { Protocol } from '../interceptors/protocol.ts';
import { hashKey } from '../keys/format.ts';
import type { Operation } from '../proto/operations.ts';
import { connectBody, connectHttpStatus } from './connect-error.ts';
import { EDGE_HEADERS, ORIGINAL_PATH } from './headers.ts';
import { errorHeaders, restError, restProtocol, withBody } from './rest-protocol.ts';

/** Envoy asks these services on behalf of callers over REST and Connect. */
const EDGE_SERVICES = '/petstore.edge.v1.';
const FORWARDED_FOR = 'x-forwarded-for';

const GRPC: Protocol = {
  name: 'gRPC',
  respond: (_call, { bytes }) => ({ kind: 'message', bytes }),
  fail: (call, error) => ({ kind: 'status', status: toStatus(error, call.responseHeaders) }),
  begin: () => ({ kind: 'message' }),
  piece: (call, message) => call.responseCodec.serialize(message),
};

/** Unary calls of the Connect protocol (https://connectrpc.com/docs/protocol). Envoy refuses its streams. */
const CONNECT: Protocol = {
  ...GRPC,
  name: 'Connect',
  respond: (call, { bytes }) => ({ kind: 'http', http: withBody(call, 200, 'application/proto', bytes) }),
  fail(call, error) {
    const http = withBody(call, connectHttpStatus(error), 'application/json', connectBody(error));
    return { kind: 'http', http: { ...http, headers: { ...errorHeaders(error), ...http.headers } } };
  },
};

/** Envoy's own questions: it passes an error on to the caller as it is. */
const EDGE: Protocol = {
  ...GRPC,
  name: 'edge',
  fail: (call, error) => ({ kind: 'http', http: restError(call, error) }),
};

/**
 * Returns a function that finds out where a call comes from.
 *
 * Only Envoy knows the address of a caller. It is believed when it shows the secret that the launcher has given to
 * both, or over mutual TLS. Everybody else speaks gRPC and counts by the address of the connection: any user of this
 * machine reaches the private port.
 */
export function origins(operations: Iterable<Operation>, edgeSecret: string | undefined) {
  const rest = restProtocol(operations);
  const expected = edgeSecret === undefined ? undefined : hashKey(edgeSecret);
  /** The connections on which a call has shown the secret. */
  const trusted = new WeakSet<object>();

  const isTrusted = (metadata: Metadata, session: Connection['session']): boolean => {
    if (session === undefined) return false;
    if (trusted.has(session)) return true;
    const secret = headerOf({ metadata }, EDGE_HEADERS.edge);
    const isEdge = secret !== undefined && expected !== undefined && timingSafeEqual(hashKey(secret), expected);
    if (isEdge || session.encrypted) trusted.add(session);
    return isEdge || session.encrypted === true;
  };

  const protocolOf = (metadata: Metadata, path: string): Protocol => {
    if (headerOf({ metadata }, EDGE_HEADERS.connect) !== undefined) return CONNECT;
    if (path.startsWith(EDGE_SERVICES)) return EDGE;
    return headerOf({ metadata }, ORIGINAL_PATH) === undefined ? GRPC : rest;
  };

  return (metadata: Metadata, path: string, connection: Connection): Origin => {
    if (!isTrusted(metadata, connection.session)) {
      const address = addressOf(undefined, connection.peer());
      return { metadata, protocol: GRPC, address, isForwarded: false, isFromEdge: false };
    }
    const forwarded = headerOf({ metadata }, FORWARDED_FOR);
    return {
      metadata,
      protocol: protocolOf(metadata, path),
      address: addressOf(forwarded, connection.peer()),
      isForwarded: forwarded !== undefined,
      isFromEdge: forwarded === undefined,
    };
  };
}
