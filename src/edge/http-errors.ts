/** Converts errors into HTTP responses, for callers over REST and over the Connect protocol. */

import type { Metadata } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import type { HttpResponse } from '../interceptors/chain.ts';
import { headerOf } from '../interceptors/metadata.ts';
import { connectError, connectHttpStatus } from './connect-error.ts';
import { EDGE_HEADERS, isHead, ORIGINAL_PATH } from './headers.ts';
import { toHttpResponse } from './http-responses.ts';

/** Envoy asks these services on behalf of REST callers. */
const EDGE_SERVICES = '/petstore.edge.v1.';

interface EdgeCall {
  readonly metadata: Metadata;
  /** The gRPC path. */
  readonly path: string;
}

/** Undefined for a gRPC caller, who gets a gRPC status. */
export function toHttpError(call: EdgeCall, error: ApiError): HttpResponse | undefined {
  const isConnect = headerOf(call, EDGE_HEADERS.connect) !== undefined;
  const isRest = call.path.startsWith(EDGE_SERVICES) || headerOf(call, ORIGINAL_PATH) !== undefined;
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
