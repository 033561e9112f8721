/**
 * What Envoy and the server say to each other of a request: one table, from which both have the names, Lua by
 * envoy/config/lua.ts. Envoy removes these headers from what callers send, and from what they get. The names stay: in
 * an upgrade new servers work with old edges. test/envoy/edge-headers.test.ts compares the table with the files.
 */
import { NAME } from '../identity.ts';
import type { Call } from './rpc/chain.ts';

/** `decides`: what the value is, and what depends on it. The files are named without their folders. */
type Row = readonly [
  way: 'to the server' | 'to Envoy' | 'within Envoy',
  setBy: string,
  readBy: string,
  decides: string,
];

/** Of a local reply: Envoy describes the request in headers of the reply, for the filter that asks the server. */
const refused = (decides: string): Row => ['within Envoy', 'local-replies.ts', 'responses.lua', decides];

export const EDGE_TABLE = {
  edge: [
    ...['to the server', 'filters.ts clusters.ts edge_service.lua', 'origins.ts conditions.ts'],
    'EDGE_SECRET: that a connection is an edge. Within Envoy: that the filters have seen a request',
  ],
  bodyType: [
    ...['to the server', 'rest.lua', 'rest.ts routes.ts local-replies.ts'],
    '`=` and the content type of a body: a 400; the route with room for a longer body',
  ],
  connect: [
    ...['to the server', 'connect.lua edge_service.lua', 'origins.ts routes.ts'],
    'that the caller speaks Connect: the route, the shape of the response. In a question `grpc`, if he speaks that',
  ],
  anonymous: [
    ...['to the server', 'caller.lua edge_service.lua', 'origins.ts routes.ts'],
    'that the caller is anonymous (keys.lua), or was until now: slots of gRPC, room for a body of REST, `accepted`',
  ],
  accepted: [
    ...['to Envoy', 'origins.ts', 'responses.lua edge_service.lua'],
    'the permission of a key that Envoy does not know: the key is valid, and known for a minute',
  ],
  limited: [
    ...['to Envoy', 'origins.ts', 'responses.lua edge_service.lua'],
    'the Authorization that is refused: no more asked about; until Retry-After judged first; without one, not known',
  ],
  length: [
    ...['to Envoy', 'responses.ts web-service.ts', 'responses.lua'],
    'the Content-Length of a response to HEAD, which is that of the GET',
  ],
  code: [
    ...['to Envoy', 'origins.ts lua.ts', 'edge_service.lua local-replies.ts access-log.ts'],
    'the code of an error: the answer to a question is one; a reply is whole, so nobody is asked; the log',
  ],
  account: [
    ...['to Envoy', 'origins.ts', 'access-log.ts responses.lua edge_service.lua'],
    'the id of the account in the log. With `accepted`, whose large bodies count as one',
  ],
  key: ['to Envoy', 'origins.ts', 'access-log.ts', 'the id of the key in the log; that no status is a success'],
  grpcStatus: ['to Envoy', 'origins.ts lua.ts', 'access-log.ts', 'the status of gRPC in the log, which HTTP has not'],
  refused: refused('the method: that a local reply is one that the server words'),
  refusedKind: refused('who judges the caller, and the shape of the error'),
  refusedPath: refused('the path with its query'),
  refusedAuthorization: refused('whose request it is'),
  refusedForwardedFor: refused('from which address'),
  refusedRequestId: refused('by which a request that is asked about again counts once'),
  refusedContentType: refused('as `bodyType`'),
  refusedFinding: ['within Envoy', 'rest.lua', 'responses.lua', 'what rest.lua has found in the body, and where'],
  refusedType: refused('the content type of a reply over gRPC, which Envoy drops'),
} as const satisfies Readonly<Record<string, Row>>;

const rows = Object.entries<Row>(EDGE_TABLE).map(([key, row]) => {
  return [key, `x-${NAME}-${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, row] as const;
});

/** The names. */
export const EDGE_HEADERS = Object.fromEntries(rows) as Readonly<Record<keyof typeof EDGE_TABLE, string>>;

/** What no caller may send. */
export const TO_SERVER = rows.flatMap(([, name, [way]]) => (way === 'to the server' ? [name] : []));

/** The service in Envoy's health checks. Its health is whether a server takes new calls. */
export const READINESS_SERVICE = `${NAME}.TakesCalls`;

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
