/**
 * The chain of interceptors that every call passes: each is `(call, next) => response`, around one handler.
 *
 * They work on a call of our own, not on grpc-js's ServerInterceptor: every method here is unary, so an interceptor is
 * a plain async function that can be tested without a server. The chain starts as soon as the headers of a call have
 * arrived. The interceptor `readMessage` reads the message, for calls that the interceptors before it have admitted.
 *
 * Each interceptor names those that it must come after. A wrong order, or a missing interceptor, fails at start.
 */

import type { Metadata } from '@grpc/grpc-js';
import type { Caller } from '../keys/caller.ts';
import type { Remember } from '../model.ts';
import type { Operation } from '../proto/operations.ts';
import type { EntityTags } from '../services/entity-tags.ts';

/** Encodes and decodes the response messages of an operation. */
export interface ResponseCodec {
  serialize(message: unknown): Buffer;
  deserialize(bytes: Buffer): unknown;
}

/** A call, as interceptors see it. */
export interface Call {
  readonly operation: Operation;
  readonly responseCodec: ResponseCodec;
  /** The request's metadata: for REST the HTTP headers, as Envoy passes them on. */
  readonly metadata: Metadata;
  /** Reads the request message. Rejects with ApiError when it is too large, too slow or malformed. */
  receive(): Promise<void>;
  /** The request message as it came off the wire. Available after `receive`. */
  readonly requestBytes: Buffer;
  /** The decoded request message. Throws MALFORMED_BODY. */
  readonly request: unknown;
  /** The address at the other end of the connection, `host:port`. */
  readonly peer: () => string;
  /** Identifies the request in logs: the x-request-id of the caller or of Envoy. */
  readonly requestId: string;
  /** True once the deadline has passed or the caller has left. */
  readonly isCancelled: () => boolean;
  /** True once the deadline has passed. */
  readonly isLate: () => boolean;
  /** Headers of the response; an error response has them too. */
  readonly responseHeaders: Map<string, string>;
  /** Set by `authentication`. */
  caller?: Caller;
  /** Set by `operatorOnly`: the call came with the operator's key. */
  isOperator?: true;
  /** Set by `etags`: a write must find one of these tags, or change nothing. */
  ifMatch?: EntityTags;
  /** Set by `idempotency`: the write must store this record of its response, in the same transaction. */
  remember?: Remember;
}

/** A response over plain HTTP, for REST and for the Connect protocol. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body; empty for none. */
  readonly body: string | Buffer;
}

export interface Response {
  readonly message: unknown;
  /** The encoded message. */
  readonly bytes: Buffer;
  /** Sent instead to a caller over HTTP. Set by the interceptors of src/edge. */
  readonly http?: HttpResponse;
}

/** The rest of the chain: the interceptors behind this one, and the handler. */
export type Next = (call: Call) => Promise<Response>;

export interface Interceptor {
  readonly name: string;
  /** The interceptors that must come before this one, each with the reason. All of them must be in the chain. */
  readonly after: Readonly<Record<string, string>>;
  /** The interceptors that must come after this one. Used by interceptors that are not part of every chain. */
  readonly before?: Readonly<Record<string, string>>;
  intercept(call: Call, next: Next): Promise<Response>;
}

/** Composes the interceptors and the handler into one function. Throws when their order is wrong. */
export function chain(interceptors: readonly Interceptor[], handler: Next): Next {
  checkOrder(interceptors);
  return interceptors.reduceRight<Next>((next, interceptor) => (call) => interceptor.intercept(call, next), handler);
}

function checkOrder(interceptors: readonly Interceptor[]): void {
  const names = interceptors.map(({ name }) => name);
  for (const [position, { name, after, before = {} }] of interceptors.entries()) {
    checkContains(names.slice(0, position), after, `interceptor "${name}" must come after`);
    checkContains(names.slice(position + 1), before, `interceptor "${name}" must come before`);
  }
}

function checkContains(names: readonly string[], required: Readonly<Record<string, string>>, rule: string): void {
  for (const [other, reason] of Object.entries(required)) {
    if (!names.includes(other)) throw new Error(`${rule} "${other}": ${reason}`);
  }
}
