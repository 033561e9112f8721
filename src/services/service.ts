/**
 * What a service is here: for each method a function, message in, message out. It throws ApiError for what the
 * caller is to see, and knows nothing of metadata, HTTP or SQL.
 */
import type { handleUnaryCall } from '@grpc/grpc-js';
import type { IsCancelled, Remember } from '../model.ts';
import type { EntityTags } from './entity-tags.ts';

/** What a method may know of its call beside the message. */
export interface Context {
  /** True once the call's deadline has passed or the caller has left: work that has not begun need not begin. */
  readonly isCancelled: IsCancelled;
  /** If there is one: what is to be changed must have one of these tags (see if-match.ts). */
  readonly ifMatch?: EntityTags;
  /** Makes the idempotency record of the response; pass it to the store with the write. Undefined without a key. */
  readonly remember?: Remember;
}

/** The methods of a generated service interface, as plain async functions. */
export type Service<S> = {
  readonly [M in keyof S as string extends M ? never : M]: S[M] extends handleUnaryCall<infer Request, infer Response>
    ? (request: Request, context: Context) => Promise<Response>
    : never;
};
