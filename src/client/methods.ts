/** From a generated service definition to methods that return promises: by types alone, nothing is written per method. */

/** One unary method of a generated definition, as far as a caller needs it. */
export interface MethodOf<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => object;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

/** A generated definition, such as `PetServiceService`. */
export type Definition = Readonly<Record<string, MethodOf<never, unknown>>>;

/** How one call differs from the others of its client. */
export interface CallOptions {
  /** How long the call may take, waiting and retries included, in milliseconds. Default: the client's. */
  readonly timeoutMs?: number;
  /** The instant by which the call must be over. Goes before `timeoutMs`. */
  readonly deadline?: Date;
  /** Ends the call when it aborts; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The methods of a service: message in, promise of a message out. They reject with PetstoreError. */
export type Methods<D extends Definition> = {
  readonly [Name in keyof D]: D[Name] extends MethodOf<infer Request, infer Response>
    ? (request: Input<Request>, options?: CallOptions) => Promise<Response>
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
