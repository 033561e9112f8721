/** How a caller speaks, and what the response to such a caller looks like. */
import type { StatusObject } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import type { Call, Response } from './chain.ts';

/** A response over plain HTTP, for REST and for the Connect protocol. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body; empty for none. */
  readonly body: string | Buffer;
}

/** A whole response: a gRPC message, a gRPC status alone, or an HTTP response. */
export type Answer =
  | { readonly kind: 'message'; readonly bytes: Buffer }
  | { readonly kind: 'status'; readonly status: StatusObject }
  | { readonly kind: 'http'; readonly http: HttpResponse };

/** The start of a stream. Over plain HTTP it has status and headers; with a body the stream ends at once. */
export type StreamStart = { readonly kind: 'message' } | { readonly kind: 'http'; readonly http: HttpResponse };

export interface Protocol {
  readonly name: 'gRPC' | 'REST' | 'Connect' | 'edge';
  respond(call: Call, response: Response): Answer;
  fail(call: Call, error: ApiError): Answer;
  /** The start of a stream, which may depend on its first message; undefined for an empty stream. */
  begin(call: Call, first: unknown): StreamStart;
  /** A message of a stream, as bytes. */
  piece(call: Call, message: unknown): Buffer;
}
