/** The protocols of callers, and what the headers of a call tell about its caller. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http2';
import { status as Status } from '@grpc/grpc-js';
import { hashKey } from '../access/keys/format.ts';
import { EDGE_HEADERS, ORIGINAL_PATH } from '../edge-headers.ts';
import type { ApiError } from '../errors.ts';
import type { Operation } from '../proto/operations.ts';
import { CONNECT } from '../protocols/connect/connect.ts';
import { GRPC } from '../protocols/grpc/grpc.ts';
import { restError, restProtocol } from '../protocols/rest/responses.ts';
import { addressOf } from '../rpc/address.ts';
import type { Call, Protocol } from '../rpc/chain.ts';
import type { Handlers } from '../rpc/private-parts.ts';
import type { GrpcServerOptions } from '../rpc/server.ts';

/** Envoy asks these services on behalf of callers. */
const EDGE_SERVICES = '/apiplatform.edge.v1.';
/** The docs page, whose files have up to 1.7 MB, and what callers over REST need without a key. */
const WEB_SERVICES = '/apiplatform.web.v1.';
const FORWARDED_FOR = 'x-forwarded-for';

/** Envoy's own questions: it passes an error on to the caller as it is. */
const EDGE: Protocol = { ...GRPC, name: 'edge', renderError: restError };

/**
 * Finds out where a call comes from, and which connections are an edge's.
 *
 * Envoy is believed when it shows the secret that the launcher has given to both, or over mutual TLS. Everybody else
 * counts by the address of the connection: any user of this machine reaches the private port.
 */
export function origins(operations: Iterable<Operation>, edgeSecret: string | undefined) {
  const rest = restProtocol(operations);
  const expected = edgeSecret === undefined ? undefined : hashKey(edgeSecret);
  /** The connections on which a call has shown the secret. */
  const trusted = new WeakSet<object>();

  const isEdge: Handlers['isEdge'] = (session, headers) => {
    if (trusted.has(session)) return true;
    const secret = headers?.[EDGE_HEADERS.edge]?.toString();
    const isShown = secret !== undefined && expected !== undefined && timingSafeEqual(hashKey(secret), expected);
    if (isShown || session.encrypted) trusted.add(session);
    return isShown || session.encrypted === true;
  };

  const protocolOf = (headers: IncomingHttpHeaders, path: string): Protocol => {
    const shape = headers[EDGE_HEADERS.connect];
    if (shape !== undefined) return shape === 'grpc' ? GRPC : CONNECT;
    if (isQuestion(path)) return EDGE;
    return headers[ORIGINAL_PATH] === undefined ? GRPC : rest;
  };

  const originOf: GrpcServerOptions['originOf'] = (headers, { path }, isByEdge, peer) => {
    if (!isByEdge) return { protocol: GRPC, address: addressOf(undefined, peer), source: 'direct' };
    const forwarded = headers[FORWARDED_FOR]?.toString();
    const source = forwarded === undefined ? 'edge' : 'forwarded';
    return { protocol: protocolOf(headers, path), address: addressOf(forwarded, peer), source };
  };
  return { originOf, isEdge, isForEdge };
}

/** What Envoy asks about or knows: shorter than `MAX_BYTES` in keys.lua. */
const NAMED = /^Bearer [!-~]{1,92}$/;

/** Tells Envoy whose call it was and how it ended, if the call came through it (edge-headers.ts). */
export function addEdgeHeaders(call: Call, error?: ApiError): void {
  const { source, caller, operation, responseHeaders } = call;
  if (source !== 'forwarded') return;
  const isLimited = error?.httpStatus === 429 && error.code !== 'TOO_MANY_STREAMS'; // which is of no other request
  if (isLimited || error?.code === 'API_KEY_INVALID') {
    const authorization = call.header('authorization') ?? '';
    if (NAMED.test(authorization)) responseHeaders.set(EDGE_HEADERS.limited, authorization);
  }
  if (caller !== undefined) {
    // A caller whom Envoy asks about has a valid key, also beyond his limits. Other such callers stay anonymous.
    const isTold = call.header(EDGE_HEADERS.anonymous) !== undefined && (!isLimited || isQuestion(operation.path));
    if (isTold) responseHeaders.set(EDGE_HEADERS.accepted, caller.permission);
    responseHeaders.set(EDGE_HEADERS.account, String(caller.accountId));
    responseHeaders.set(EDGE_HEADERS.key, String(caller.keyId));
  }
  if (error !== undefined) responseHeaders.set(EDGE_HEADERS.code, error.code);
  // A response over HTTP has no gRPC status. Envoy takes a call with a key for OK unless this header says otherwise.
  if (error !== undefined || caller === undefined) {
    responseHeaders.set(EDGE_HEADERS.grpcStatus, String(error?.grpcStatus ?? Status.OK));
  }
}

function isQuestion(path: string): boolean {
  return path.startsWith(EDGE_SERVICES);
}

/** Only Envoy may call these: to anybody else there is no such method. */
function isForEdge(path: string): boolean {
  return isQuestion(path) || path.startsWith(WEB_SERVICES);
}
