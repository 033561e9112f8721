/**
 * A service has a function per method, from request message to response message, or to a sequence of messages for a
 * method that streams. It throws ApiError for errors that the caller sees, and does not depend on metadata, HTTP or
 * SQL.
 */
import type { handleServerStreamingCall, handleUnaryCall } from '@grpc/grpc-js';
import type { WritingCall } from '../storage/store.ts';
import type { EntityTags } from './entity-tags.ts';

/** The context of a call, beside its message. */
export interface Context extends WritingCall {
  /** If set, the stored resource must match one of these tags (see if-match.ts). */
  readonly ifMatch?: EntityTags;
}

/** Consecutive messages that several streams send. They are encoded once per protocol. */
export class Batch<Message> {
  readonly messages: readonly Message[];
  readonly #encoded = new Map<object, Buffer>();

  constructor(messages: readonly Message[]) {
    this.messages = messages;
  }

  encode(protocol: object, encode: (message: Message) => Buffer): Buffer {
    const bytes = this.#encoded.get(protocol) ?? Buffer.concat(this.messages.map(encode));
    this.#encoded.set(protocol, bytes);
    return bytes;
  }
}

/** The methods of a generated service interface, as plain functions. */
export type Service<S, C = Context> = {
  readonly [M in keyof S as string extends M ? never : M]: S[M] extends handleUnaryCall<infer Request, infer Response>
    ? (request: Request, context: C) => Promise<Response>
    : S[M] extends handleServerStreamingCall<infer Request, infer Response>
      ? (request: Request, context: C) => AsyncIterable<Response | Batch<Response>>
      : never;
};
