/** How a caller speaks, and what the response to such a caller looks like. */
import type { ApiError } from '../errors.ts';
import type { Call, Response } from './chain.ts';

/** A response as HTTP/2 carries it: of any protocol, gRPC included. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body; empty for none. */
  readonly body: string | Buffer;
  /** What gRPC sends after the body. Without a body they are headers ("Trailers-Only"). */
  readonly trailers?: Readonly<Record<string, string>>;
}

export interface Protocol {
  readonly name: 'gRPC' | 'REST' | 'Connect' | 'edge';
  respond(call: Call, response: Response): HttpResponse;
  fail(call: Call, error: ApiError): HttpResponse;
  /** The start of a stream, without a body. It may depend on the first message; undefined for an empty stream. */
  begin(call: Call, first: unknown): HttpResponse;
  /** A message of a stream, as bytes. */
  piece(call: Call, message: unknown): Buffer;
}
