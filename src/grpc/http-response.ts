/**
 * Responses over plain HTTP to calls that came in as gRPC.
 *
 * Envoy turns REST and Connect requests into gRPC calls. Its transcoder passes a response that is not gRPC through
 * unchanged. So the server sends such a caller the final response: nothing is translated a second time, and headers and
 * body leave in one write.
 */

import { constants, type ServerHttp2Stream, type ServerStreamResponseOptions } from 'node:http2';
import { Metadata, type ServerInterceptingCallInterface, type StatusObject } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import type { HttpResponse } from '../interceptors/chain.ts';
import { toStatus } from './status.ts';

type Headers = Iterable<readonly [name: string, value: string]>;

/** Makes the HTTP response for an error; undefined for a gRPC caller, who gets a gRPC status. */
export type ToHttpError = (
  call: { readonly metadata: Metadata; readonly path: string },
  error: ApiError,
) => HttpResponse | undefined;

/**
 * Ends a call with `response`, plus the headers in `moreHeaders` that it does not have itself. Nothing may have been
 * sent on the call before. Does nothing when the call has already ended.
 *
 * @throws TypeError for a header that is invalid in HTTP. The call is reset then.
 */
export function sendHttpResponse(
  call: ServerInterceptingCallInterface,
  { status, headers, body }: HttpResponse,
  moreHeaders: Headers = [],
): void {
  const stream = streamOf(call);
  if (stream.destroyed || stream.closed) return;
  const rawHeaders = [':status', String(status)];
  for (const [name, value] of moreHeaders) if (!(name in headers)) rawHeaders.push(name, value);
  for (const [name, value] of Object.entries(headers)) rawHeaders.push(name, value);
  const options: ServerStreamResponseOptions & { readonly sendDate: boolean } = {
    endStream: body.length === 0,
    sendDate: false, // Envoy adds it
  };
  try {
    stream.respond(rawHeaders, options);
  } catch (error) {
    stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    throw error;
  }
  if (body.length > 0) stream.end(body);
}

/**
 * Removes all listeners from the stream of a call that has ended. Node keeps the stream until the next major garbage
 * collection; its listeners, and with them the whole call, would be copied and kept too.
 */
export function removeListeners(call: ServerInterceptingCallInterface): void {
  const stream = streamOf(call);
  if (stream.closed) stream.removeAllListeners();
}

/** The cast is needed because the stream of a grpc-js call is a private property. */
function streamOf(call: ServerInterceptingCallInterface): ServerHttp2Stream {
  return (call as unknown as { readonly stream: ServerHttp2Stream }).stream;
}

/**
 * The status that ends a call with `error` and these response headers. With `http`, a call that `interceptHttpStatus`
 * has prepared sends that response instead.
 */
export function errorStatus(error: ApiError, http: HttpResponse | undefined, headers: Headers = []): StatusObject {
  if (http === undefined) return toStatus(error, headers);
  return { code: error.grpcStatus, details: error.message, metadata: new HttpMetadata(http, headers) };
}

class HttpMetadata extends Metadata {
  readonly response: HttpResponse;
  readonly headers: Headers;

  constructor(response: HttpResponse, headers: Headers) {
    super();
    this.response = response;
    this.headers = headers;
  }
}

/** Makes `call`, a call of grpc-js, send the HTTP response that is inside an `errorStatus`. */
export function interceptHttpStatus(call: ServerInterceptingCallInterface): void {
  const sendStatus = call.sendStatus.bind(call);
  call.sendStatus = (status) => {
    const { metadata } = status;
    if (metadata instanceof HttpMetadata) sendHttpResponse(call, metadata.response, metadata.headers);
    else sendStatus(status);
  };
}
