/**
 * Errors as they leave the server over HTTP: to REST callers in the shape of the contract, to Connect callers in
 * theirs.
 */

import type { Metadata } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import type { HttpResponse } from '../interceptors/chain.ts';
import { headerOf } from '../interceptors/metadata.ts';
import { connectError, connectHttpStatus } from './connect-error.ts';
import { EDGE_HEADERS, isHead, ORIGINAL_PATH } from './headers.ts';
import { toHttpResponse } from './http-responses.ts';

/** Envoy's own questions: their answers are for REST callers too. */
const EDGE = '/petstore.edge.v1.';

interface EdgeCall {
  readonly metadata: Metadata;
  /** The gRPC path. */
  readonly path: string;
}

/** What the caller gets; undefined for a gRPC caller. */
export function toHttpError(call: EdgeCall, error: ApiError): HttpResponse | undefined {
  const isConnect = headerOf(call, EDGE_HEADERS.connect) !== undefined;
  const isRest = call.path.startsWith(EDGE) || headerOf(call, ORIGINAL_PATH) !== undefined;
  if (!isConnect && !isRest) return undefined;
  const status = isConnect ? connectHttpStatus(error) : error.httpStatus;
  const body = isConnect ? connectBody(error) : restBody(error);
  const response = toHttpResponse(status, 'application/json', body, isHead(call));
  return { ...response, headers: { ...headersOf(error), ...response.headers } };
}

function headersOf({ headers, retryAfterSeconds }: ApiError): Readonly<Record<string, string>> {
  return retryAfterSeconds === undefined ? headers : { ...headers, 'retry-after': String(retryAfterSeconds) };
}

/** `{code, message, status}` */
export function restBody({ code, message, httpStatus }: ApiError): string {
  return JSON.stringify({ code, message, status: httpStatus });
}

/** `{code, message, details}` */
export function connectBody(error: ApiError): string {
  return JSON.stringify(connectError(error));
}
