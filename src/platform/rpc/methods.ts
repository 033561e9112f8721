/**
 * A service has a function per method: from a request message to a response message, or to a sequence of them. It
 * throws ApiError for errors that the caller sees, and knows no metadata, HTTP or SQL.
 */
import type { handleServerStreamingCall, handleUnaryCall } from '@grpc/grpc-js';
import type { WritingCall } from '../tables/store.ts';
import type { Caller } from './caller.ts';
import type { Call, Codec } from './chain.ts';
import type { EntityTags } from './entity-tags.ts';
import type { SharedMessages } from './shared-messages.ts';

/** The context of a call, beside its message. */
export interface Context extends WritingCall {
  readonly caller: Pick<Caller, 'accountId' | 'keyId' | 'permission'>;
  /** If set, the stored resource must match one of these tags (see if-match.ts). */
  readonly ifMatch?: EntityTags;
}

/** The methods of a generated service interface, as plain functions. */
export type Service<S, C = Context> = {
  readonly [M in keyof S as string extends M ? never : M]: S[M] extends handleUnaryCall<infer Request, infer Response>
    ? (request: Request, context: C) => Promise<Response>
    : S[M] extends handleServerStreamingCall<infer Request, infer Response>
      ? (request: Request, context: C) => AsyncIterable<Response | SharedMessages<Response & object>>
      : never;
};

/** A call behind the interceptor that identifies its caller: `serve` has every public method there. */
type IdentifiedCall = Call & Required<Pick<Call, 'caller'>>;
type Result = Promise<unknown> | AsyncIterable<unknown>;
type AnyDefinition = Codec & { readonly path: string };

/** The methods of a service, with their handlers. */
export type Implementation = readonly {
  readonly codec: AnyDefinition;
  readonly handler: (call: Call) => Result;
}[];

/** Joins a generated definition and the handlers of its methods. @throws Error when a method has none. */
export function implement<S>(
  definition: Readonly<Record<string, AnyDefinition>>,
  handlers: Service<S, IdentifiedCall>,
): Implementation {
  const all = handlers as Readonly<Record<string, (request: unknown, call: IdentifiedCall) => Result>>;
  return Object.entries(definition).map(([name, codec]) => {
    const handle = all[name];
    if (handle === undefined) throw new Error(`nothing implements ${codec.path}`);
    return { codec, handler: (call: Call) => handle(call.request, call as IdentifiedCall) };
  });
}

const asIs = (bytes: unknown) => bytes as Buffer;
export const RAW: Codec = { responseSerialize: asIs, responseDeserialize: asIs };
