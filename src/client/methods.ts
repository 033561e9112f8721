/** From a generated service definition to methods that return promises: by types alone, nothing is written per method. */
import type { CONDITIONAL, CREATING } from '../../gen/client/methods.ts';

/** One unary method of a generated definition, as far as a caller needs it. */
export interface MethodOf<Path extends string, Request, Response> {
  /** `/petstore.v1.PetService/GetPet` */
  readonly path: Path;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => object;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

/** A generated definition, such as `PetServiceService`. */
export type Definition = Readonly<Record<string, MethodOf<string, never, unknown>>>;

/** How one call differs from the others of its client. */
export interface CallOptions {
  /** How long the call may take, waiting and retries included, in milliseconds. Default: the client's. */
  readonly timeoutMs?: number;
  /** The instant by which the call must be over. Goes before `timeoutMs`. */
  readonly deadline?: Date;
  /** Ends the call when it aborts; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** How a call differs that creates something. */
export interface CreateOptions extends CallOptions {
  /**
   * 1 to 255 visible ASCII characters without a comma. The server does the work once for each key, and answers a
   * repeated call as it did the first. Default: a new one for each call, the same for all its retries.
   */
  readonly idempotencyKey?: string;
}

/** How a call differs that changes or deletes one thing. */
export interface WriteOptions extends CallOptions {
  /** Only if the thing has this entity tag (see `etagOf`), or one of a list; otherwise PRECONDITION_FAILED. */
  readonly ifMatch?: string;
}

/** The options that the method with this path takes. */
type OptionsOf<Path> = Path extends (typeof CREATING)[number]
  ? CreateOptions
  : Path extends (typeof CONDITIONAL)[number]
    ? WriteOptions
    : CallOptions;

/** The methods of a service: message in, promise of a message out. They reject with PetstoreError. */
export type Methods<D extends Definition> = {
  readonly [Name in keyof D]: D[Name] extends MethodOf<infer Path, infer Request, infer Response>
    ? (request: Input<Request>, options?: OptionsOf<Path>) => Promise<Response>
    : never;
};

/** A request message as callers write it: lists and the page token may be left out. */
export type Input<Request> = Omit<Request, Omissible<Request>> & Partial<Pick<Request, Omissible<Request>>>;

type Omissible<Request> = {
  [Field in keyof Request]-?: Field extends 'pageToken'
    ? Field
    : Request[Field] extends readonly unknown[]
      ? Field
      : never;
}[keyof Request];
