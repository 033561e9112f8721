/** What Envoy is told of an error, in headers. Its Lua filter makes the body of a REST answer of it. */
import type { Metadata } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import { ADDRESS_SUBJECT } from '../interceptors/limits.ts';
import { EDGE_HEADERS, ORIGINAL_PATH } from './headers.ts';

/** Envoy's own questions: their answers are for REST callers too. */
const EDGE = '/petstore.edge.v1.';

/**
 * What Envoy is told of an error: the body, for a call that came in as REST; and that an address has used up what it may
 * send without a valid key.
 */
export function edgeErrorHeaders(call: EdgeCall, error: ApiError): (readonly [name: string, value: string])[] {
  const { metadata, path } = call;
  const headers: [string, string][] = [];
  const isRest = path.startsWith(EDGE) || metadata.get(ORIGINAL_PATH).length > 0;
  if (isRest) headers.push([EDGE_HEADERS.error, restBody(error)]);
  const isSuspect = error.quotaSubject?.startsWith(ADDRESS_SUBJECT) && metadata.get('x-forwarded-for').length > 0;
  if (isSuspect) headers.push([EDGE_HEADERS.suspect, String(error.retryAfterSeconds)]);
  return headers;
}

interface EdgeCall {
  readonly metadata: Metadata;
  /** The gRPC path. */
  readonly path: string;
}

/** `{code, message, status}`, escaped to ASCII so that it can travel in a header. */
export function restBody({ code, message, httpStatus }: ApiError): string {
  const json = JSON.stringify({ code, message, status: httpStatus });
  return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
