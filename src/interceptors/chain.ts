/**
 * The chain that every call passes: a list of interceptors, each `(call, next) => response`, around one handler.
 *
 * They are functions over a call of our own, not grpc-js's ServerInterceptor: every method of ours is unary, so an
 * interceptor is a plain async function that is tested without a server. The chain begins when the headers of a call
 * have arrived. Its message is read by one of the interceptors, `message`, for callers whom those in front have
 * let through. Each interceptor says after which others it must come; a wrong order, or one that is missing, fails at start.
 */

import type { Metadata } from '@grpc/grpc-js';
import type { Caller } from '../keys/caller.ts';
import type { Remember } from '../model.ts';
import type { Operation } from '../proto/operations.ts';
import type { EntityTags } from '../services/entity-tags.ts';

/** How the responses of an operation are written to bytes and read back. */
export interface ResponseCodec {
  serialize(response: unknown): Buffer;
  deserialize(bytes: Buffer): unknown;
}

/** One call on its way in. Interceptors read it; `responseHeaders` is where they leave what the response must carry. */
export interface Call {
  readonly operation: Operation;
  readonly responseCodec: ResponseCodec;
  /** The request's metadata: on REST the HTTP headers, as Envoy passes them on. */
  readonly metadata: Metadata;
  /** Reads the request message. Rejects with ApiError when it is too large, too slow or not readable. */
  receive(): Promise<void>;
  /** The request message as it came off the wire, once it has been received. */
  readonly requestBytes: Buffer;
  /** The same, decoded for the method. Throws MALFORMED_BODY. */
  readonly request: unknown;
  /** The address at the other end of the connection, `host:port`. */
  readonly peer: () => string;
  /** Names the request in logs: the caller's or Envoy's x-request-id. */
  readonly requestId: string;
  /** True once the deadline has passed or the caller has left. */
  readonly isCancelled: () => boolean;
  /** True once the deadline has passed. */
  readonly isLate: () => boolean;
  /** Headers of the response, of a refusal too. */
  readonly responseHeaders: Map<string, string>;
  /** Set by authentication. */
  caller?: Caller;
  /** Set by operator: the operator's key came with the call. */
  isOperator?: true;
  /** What the caller wants to change has one of these tags, or is to stay as it is. Set by etags. */
  ifMatch?: EntityTags;
  /** Set by idempotency: whoever does the work has the response remembered with it. */
  remember?: Remember;
}

/** A response over plain HTTP, of REST and of the Connect protocol. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body; empty for none. */
  readonly body: string | Buffer;
}

/** What a call is answered with. */
export interface Response {
  /** The response message. */
  readonly message: unknown;
  /** Its bytes as they go onto the wire. */
  readonly bytes: Buffer;
  /** What a caller over HTTP gets instead. Set by the edge. */
  readonly http?: HttpResponse;
}

/** What comes after an interceptor. It resolves with the response, or rejects with what went wrong. */
export type Next = (call: Call) => Promise<Response>;

export interface Interceptor {
  readonly name: string;
  /** Interceptors that must stand before this one, each with the reason. Without one of them the chain is refused. */
  readonly after: Readonly<Record<string, string>>;
  /** Interceptors that must stand behind this one, likewise: for what is not always in the chain itself. */
  readonly before?: Readonly<Record<string, string>>;
  intercept(call: Call, next: Next): Promise<Response>;
}

/** Checks the order and makes one function of the interceptors and the handler behind them. */
export function chain(interceptors: readonly Interceptor[], handler: Next): Next {
  checkOrder(interceptors);
  return interceptors.reduceRight<Next>((next, interceptor) => (call) => interceptor.intercept(call, next), handler);
}

function checkOrder(interceptors: readonly Interceptor[]): void {
  const names = interceptors.map(({ name }) => name);
  for (const [position, { name, after, before = {} }] of interceptors.entries()) {
    checkThere(`interceptor "${name}" must come after`, after, names.slice(0, position));
    checkThere(`interceptor "${name}" must come before`, before, names.slice(position + 1));
  }
}

function checkThere(rule: string, others: Readonly<Record<string, string>>, names: readonly string[]): void {
  for (const [other, reason] of Object.entries(others)) {
    if (!names.includes(other)) throw new Error(`${rule} "${other}": ${reason}`);
  }
}
