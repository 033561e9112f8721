/** The REST body of an error. It travels in a header: Envoy's Lua filter makes it the body. */
import type { Metadata } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import { EDGE_HEADERS, ORIGINAL_PATH } from './headers.ts';

/** Envoy's own questions: their answers are for REST callers too. */
const EDGE = '/petstore.edge.v1.';

/** The header with the body, for a call that came in as REST; for others there is none. */
export function restErrorHeaders(
  call: RestOrNot,
  error: ApiError,
): readonly (readonly [name: string, value: string])[] {
  const isRest = call.path.startsWith(EDGE) || call.metadata.get(ORIGINAL_PATH).length > 0;
  return isRest ? [[EDGE_HEADERS.error, restBody(error)]] : [];
}

interface RestOrNot {
  readonly metadata: Metadata;
  /** The gRPC path. */
  readonly path: string;
}

/** `{code, message, status}`, escaped to ASCII so that it can travel in a header. */
export function restBody({ code, message, httpStatus }: ApiError): string {
  const json = JSON.stringify({ code, message, status: httpStatus });
  return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
