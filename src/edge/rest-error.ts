/** What Envoy is told of an error, in headers. Its Lua filter makes the body of a REST or Connect answer of it. */
import type { Metadata } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import { connectError } from './connect-error.ts';
import { EDGE_HEADERS, ORIGINAL_PATH } from './headers.ts';

/** Envoy's own questions: their answers are for REST callers too. */
const EDGE = '/petstore.edge.v1.';

/** What Envoy is told of an error: the body, for a call that came in as REST or Connect. */
export function edgeErrorHeaders(call: EdgeCall, error: ApiError): (readonly [name: string, value: string])[] {
  const { metadata, path } = call;
  const isConnect = metadata.get(EDGE_HEADERS.connect).length > 0;
  const isRest = path.startsWith(EDGE) || metadata.get(ORIGINAL_PATH).length > 0;
  if (!isConnect && !isRest) return [];
  return [
    [EDGE_HEADERS.error, isConnect ? connectBody(error) : restBody(error)],
    [EDGE_HEADERS.request, '1'],
  ];
}

interface EdgeCall {
  readonly metadata: Metadata;
  /** The gRPC path. */
  readonly path: string;
}

/** `{code, message, status}`, escaped to ASCII so that it can travel in a header. */
export function restBody({ code, message, httpStatus }: ApiError): string {
  return ascii({ code, message, status: httpStatus });
}

/** `{code, message, details}`, escaped likewise. */
export function connectBody(error: ApiError): string {
  return ascii(connectError(error));
}

function ascii(value: object): string {
  const json = JSON.stringify(value);
  return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
