/**
 * A service has a function per method, from request message to response message, or to a sequence of messages for a
 * method that streams. It throws ApiError for errors that the caller sees, and does not depend on metadata, HTTP or
 * SQL.
 */
import type { handleServerStreamingCall, handleUnaryCall } from '@grpc/grpc-js';
import type { WritingCall } from '../storage/store.ts';
import type { Call, Codec } from './chain.ts';
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
  #messages: readonly Message[];

  constructor(messages: readonly Message[]) {
    this.#messages = messages;
  }

  /** Once: the messages are gone then, so that their bytes are all that waits for a reader. */
  encode(protocol: object, encode: (message: Message) => Buffer): Buffer {
    const encoded = ENCODED.get(protocol) ?? new WeakMap<object, Buffer>();
    ENCODED.set(protocol, encoded);
    const pieces = this.#messages.map((message) => {
      const bytes = encoded.get(message) ?? joined([encode(message)]);
      encoded.set(message, bytes);
      return bytes;
    });
    this.#messages = [];
    const [first, ...others] = pieces;
    return first !== undefined && others.length === 0 ? first : joined(pieces);
  }
}

/** Joins bytes in memory of their own. Node's pool has pieces of 64 KiB: a few unread bytes would keep one of them. */
function joined(pieces: readonly Buffer[]): Buffer {
  const all = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) at += piece.copy(all, at);
  return all;
}

/** The methods of a generated service interface, as plain functions. */
export type Service<S, C = Context> = {
  readonly [M in keyof S as string extends M ? never : M]: S[M] extends handleUnaryCall<infer Request, infer Response>
    ? (request: Request, context: C) => Promise<Response>
    : S[M] extends handleServerStreamingCall<infer Request, infer Response>
      ? (request: Request, context: C) => AsyncIterable<Response | SharedMessages<Response & object>>
      : never;
};

/** Any method of any service. The parameters of methods, unlike those of functions, are compared in both directions. */
interface AnyDefinition extends Codec {
  readonly path: string;
}
interface AnyHandlers {
  readonly [name: string]: { call(request: unknown, call: Call): Promise<unknown> | AsyncIterable<unknown> }['call'];
}

/** The methods of a service, with their handlers. */
export type Implementation = readonly {
  readonly codec: AnyDefinition;
  readonly handler: (call: Call) => Promise<unknown> | AsyncIterable<unknown>;
}[];

/** Joins a generated definition and the handlers of its methods. @throws Error when a method has none. */
export function implement<S>(
  definition: Readonly<Record<string, AnyDefinition>>,
  handlers: Service<S, Call> & AnyHandlers,
): Implementation {
  return Object.entries(definition).map(([name, codec]) => {
    const handle = (handlers as AnyHandlers)[name];
    if (handle === undefined) throw new Error(`nothing implements ${codec.path}`);
    return { codec, handler: (call: Call) => handle(call.request, call) };
  });
}

const asIs = (bytes: unknown) => bytes as Buffer;
/** The codec of a method that works on bytes. */
export const RAW: Codec = { responseSerialize: asIs, responseDeserialize: asIs };
