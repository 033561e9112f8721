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

/** The bytes of messages that several streams send, by protocol. */
const ENCODED = new WeakMap<object, WeakMap<object, Buffer>>();

/** Consecutive messages that other streams send too. Each is encoded once per protocol. */
export class SharedMessages<Message extends object> {
  readonly messages: readonly Message[];

  constructor(messages: readonly Message[]) {
    this.messages = messages;
  }

  encode(protocol: object, encode: (message: Message) => Buffer): Buffer {
    const encoded = ENCODED.get(protocol) ?? new WeakMap<object, Buffer>();
    ENCODED.set(protocol, encoded);
    const pieces = this.messages.map((message) => {
      const bytes = encoded.get(message) ?? encode(message);
      encoded.set(message, bytes);
      return bytes;
    });
    return Buffer.concat(pieces);
  }
}

/** The methods of a generated service interface, as plain functions. */
export type Service<S, C = Context> = {
  readonly [M in keyof S as string extends M ? never : M]: S[M] extends handleUnaryCall<infer Request, infer Response>
    ? (request: Request, context: C) => Promise<Response>
    : S[M] extends handleServerStreamingCall<infer Request, infer Response>
      ? (request: Request, context: C) => AsyncIterable<Response | SharedMessages<Response & object>>
      : never;
};
