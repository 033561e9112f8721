/**
 * A response over plain HTTP to what came in as a gRPC call.
 *
 * Envoy makes gRPC calls of REST and Connect requests. Its transcoder passes a response that is not gRPC's on as it is. So
 * the server gives such a caller the very answer that the caller is to get: nothing of it is translated a second time,
 * and headers and body leave in one write.
 */

import { constants, type ServerHttp2Stream, type ServerStreamResponseOptions } from 'node:http2';
import { Metadata, type ServerInterceptingCallInterface, type StatusObject } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import type { HttpResponse } from '../interceptors/chain.ts';
import { toStatus } from './status.ts';

type Headers = Iterable<readonly [name: string, value: string]>;

/** The response to a call that ends with an error; undefined for a gRPC caller, who gets a gRPC status. */
export type ToHttpError = (
  call: { readonly metadata: Metadata; readonly path: string },
  error: ApiError,
) => HttpResponse | undefined;

/**
 * Ends a call with `answer`, which has the headers `more` too. grpc-js's call must not have sent anything. A call that has
 * ended already is left alone.
 *
 * @throws TypeError for a header that HTTP can't have. The call is reset then.
 */
export function sendHttpResponse(
  call: ServerInterceptingCallInterface,
  { status, headers, body }: HttpResponse,
  more: Headers = [],
): void {
  const stream = streamOf(call);
  if (stream.destroyed || stream.closed) return; // the caller has left
  const list = [':status', String(status)];
  for (const [name, value] of more) if (!(name in headers)) list.push(name, value);
  for (const [name, value] of Object.entries(headers)) list.push(name, value);
  const options: ServerStreamResponseOptions & { readonly sendDate: boolean } = {
    endStream: body.length === 0,
    sendDate: false, // Envoy adds it
  };
  try {
    stream.respond(list, options);
  } catch (error) {
    stream.close(constants.NGHTTP2_INTERNAL_ERROR); // a header that HTTP can't have: nothing else can be sent either
    throw error;
  }
  if (body.length > 0) stream.end(body);
}

/**
 * Takes everything off the stream of a call that has ended. Node keeps such a stream until the next collection of old
 * objects; what listens to it, which is all of the call, would be copied and kept with it.
 */
export function removeListeners(call: ServerInterceptingCallInterface): void {
  const stream = streamOf(call);
  if (stream.closed) stream.removeAllListeners();
}

/** grpc-js has no word for it: the stream of its call is a private property. */
function streamOf(call: ServerInterceptingCallInterface): ServerHttp2Stream {
  return (call as unknown as { readonly stream: ServerHttp2Stream }).stream;
}

/**
 * The status that ends a call with `error`, with these headers in its response: for a caller over HTTP one that goes out as
 * `http`, where `interceptHttpStatus` stands before the call.
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

/** Has `call`, which is grpc-js's own, send such a status as the response that it holds. */
export function interceptHttpStatus(call: ServerInterceptingCallInterface): void {
  const send = call.sendStatus.bind(call);
  call.sendStatus = (status) => {
    const { metadata } = status;
    if (metadata instanceof HttpMetadata) sendHttpResponse(call, metadata.response, metadata.headers);
    else send(status);
  };
}
