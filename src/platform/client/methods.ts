/** Types that turn a generated service definition into methods that return promises. */
import type { CONDITIONAL, CREATING } from '../../../gen/client/methods.ts';

/** A unary method of a generated definition, with the members that a client needs. */
export interface MethodOf<Path extends string, Request, Response> {
  /** `/shop.v1.OrderService/GetOrder` */
  readonly path: Path;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => object;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

/** A generated definition, such as `OrderServiceService`. */
export type Definition = Readonly<Record<string, MethodOf<string, never, unknown>>>;

/** Options of one call. */
export interface CallOptions {
  /** How long the call may take, with waiting and retries, in milliseconds. Default: the client's. */
  readonly timeoutMs?: number;
  /** When the call must have ended. Overrides `timeoutMs`. */
  readonly deadline?: Date;
  /** Cancels the call when it aborts; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Options of a call that creates a resource. */
export interface CreateOptions extends CallOptions {
  /**
   * 1 to 255 visible ASCII characters without a comma. The server does the work once for each key, and repeats its
   * first response to later calls. Default: a new key for each call, the same for all its retries.
   */
  readonly idempotencyKey?: string;
}

/** Options of a call that changes or deletes a resource. */
export interface WriteOptions extends CallOptions {
  /** The call fails with PRECONDITION_FAILED unless the resource has this entity tag (`etagOf`), or one of a list. */
  readonly ifMatch?: string;
}

/** The options of the method with this path. A custom verb may have both. */
type OptionsOf<Path> = (Path extends (typeof CREATING)[number] ? CreateOptions : CallOptions) &
  (Path extends (typeof CONDITIONAL)[number] ? WriteOptions : CallOptions);

/** The methods of a service: from a request message to a promise of the response. They reject with CallError. */
export type Methods<D extends Definition> = {
  readonly [Name in keyof D]: D[Name] extends MethodOf<infer Path, infer Request, infer Response>
    ? (request: Input<Request>, options?: OptionsOf<Path>) => Promise<Response>
    : never;
};

/** A message as callers write it: lists are optional, as deep as messages go, and so is the page token. */
export type Input<Message> = Message extends readonly (infer Item)[]
  ? readonly Input<Item>[]
  : Message extends object
    ? { [Field in keyof Message as Field extends Omissible<Message> ? never : Field]: Input<Message[Field]> } & {
        [Field in keyof Message as Field extends Omissible<Message> ? Field : never]?: Input<Message[Field]>;
      }
    : Message;

type Omissible<Message> = {
  [Field in keyof Message]-?: Field extends 'pageToken'
    ? Field
    : Message[Field] extends readonly unknown[]
      ? Field
      : never;
}[keyof Message];
