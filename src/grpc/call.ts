/**
 * A unary call as it comes off the wire. It begins with its headers: nothing of the message is read before `receive`,
 * so that a caller who is refused is answered whether or not the message ever comes.
 *
 * grpc-js reads the message of a unary call before it asks anybody. So its own machinery for such calls is left out:
 * `InterceptedUnaryCall` starts the call by itself and speaks to grpc-js's call below (`ServerInterceptingCallInterface`).
 *
 * Failure: what grpc-js finds wrong with a message (too large, not decompressible, a timeout that is none) it
 * would answer at once, without details, and as INTERNAL. Here that is what `receive` rejects with.
 */

import { randomUUID } from 'node:crypto';
import {
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  status as Status,
  type StatusObject,
} from '@grpc/grpc-js';
import { BODY_TIMEOUT_MS } from '../config/constants.ts';
import { type ApiError, apiError } from '../errors.ts';
import type { Call, HttpResponse, ResponseCodec } from '../interceptors/chain.ts';
import type { Caller } from '../keys/caller.ts';
import type { Remember } from '../model.ts';
import type { Operation } from '../proto/operations.ts';
import type { EntityTags } from '../services/entity-tags.ts';
import { removeListeners, sendHttpResponse } from './http-response.ts';

type BaseCall = ServerInterceptingCallInterface;
type PartialStatus = Parameters<BaseCall['sendStatus']>[0];

/** A longer one is not what anybody would look for in a log. */
const MAX_REQUEST_ID = 128;

/** What becomes of a call. Called once, when its headers are there. */
export type Run = (call: UnaryCall) => void;

/** A method whose calls are taken over. */
export interface Method {
  readonly operation: Operation;
  readonly responseCodec: ResponseCodec;
  readonly decodeRequest: (bytes: Buffer) => unknown;
  readonly run: Run;
}

/** In the place of grpc-js's own handling of a unary call. */
export class InterceptedUnaryCall extends ServerInterceptingCall {
  readonly #base: BaseCall;
  readonly #method: Method;

  constructor(base: BaseCall, method: Method) {
    super(base);
    this.#base = base;
    this.#method = method;
  }

  override start(): void {
    const base = this.#base;
    const sendStatus = base.sendStatus.bind(base);
    let call: UnaryCall | undefined;
    base.start({
      onReceiveMetadata: (metadata) => {
        call = new UnaryCall(base, sendStatus, this.#method, metadata);
        base.sendStatus = (status) => call?.takeStatus(status); // from here on: what grpc-js itself finds wrong
        this.#method.run(call);
      },
      onReceiveMessage: (bytes: Buffer) => call?.takeMessage(bytes),
      onReceiveHalfClose: () => call?.takeEnd(),
      onCancel: () => {
        call?.cancel();
        call = undefined;
        removeListeners(base);
      },
    });
  }
}

export class UnaryCall implements Call {
  readonly operation: Operation;
  readonly responseCodec: ResponseCodec;
  readonly metadata: Metadata;
  readonly requestId: string;
  readonly responseHeaders = new Map<string, string>();
  caller?: Caller;
  isOperator?: true;
  ifMatch?: EntityTags;
  remember?: Remember;
  /** Called when the deadline has passed: whoever runs the call answers it. */
  onExpired: () => void = () => undefined;
  readonly #base: BaseCall;
  /** grpc-js's own, before it was replaced. */
  readonly #sendStatus: BaseCall['sendStatus'];
  readonly #decodeRequest: Method['decodeRequest'];
  #message: Buffer | undefined;
  #request: unknown;
  #received: PromiseWithResolvers<void> | undefined;
  #bodyTimer: NodeJS.Timeout | undefined;
  /** What was wrong with the message before anybody asked for it. */
  #fault: ApiError | undefined;
  #isComplete = false;
  #isOver = false;

  constructor(
    base: BaseCall,
    sendStatus: BaseCall['sendStatus'],
    { operation, responseCodec, decodeRequest }: Method,
    metadata: Metadata,
  ) {
    this.operation = operation;
    this.responseCodec = responseCodec;
    this.#decodeRequest = decodeRequest;
    this.metadata = metadata;
    const [requestId] = metadata.get('x-request-id');
    const isUsable = typeof requestId === 'string' && requestId.length <= MAX_REQUEST_ID;
    this.requestId = isUsable ? requestId : randomUUID();
    this.#base = base;
    this.#sendStatus = sendStatus;
  }

  get requestBytes(): Buffer {
    if (this.#message === undefined) throw new Error('the message has not been received');
    return this.#message;
  }

  get request(): unknown {
    if (this.#request !== undefined) return this.#request;
    try {
      this.#request = this.#decodeRequest(this.requestBytes);
    } catch (error) {
      throw malformed(error instanceof Error ? error.message : String(error));
    }
    return this.#request;
  }

  peer = (): string => this.#base.getPeer();

  isCancelled = (): boolean => this.#isOver || this.isLate();

  isLate = (): boolean => Date.now() >= Number(this.#base.getDeadline());

  receive(): Promise<void> {
    this.#received = Promise.withResolvers();
    if (this.#fault !== undefined) {
      this.#received.reject(this.#fault);
    } else if (this.#isOver) {
      this.#received.reject(apiError('DEADLINE_EXCEEDED'));
    } else {
      this.#startBodyTimer();
      this.#base.startRead();
    }
    return this.#received.promise;
  }

  /** A call with an earlier deadline needs none: every call from the REST side has one. */
  #startBodyTimer(): void {
    if (Number(this.#base.getDeadline()) - Date.now() < BODY_TIMEOUT_MS) return;
    this.#bodyTimer = setTimeout(() => this.#refuse(apiError('REQUEST_TIMEOUT')), BODY_TIMEOUT_MS);
  }

  takeMessage(bytes: Buffer): void {
    if (this.#message === undefined) {
      this.#message = bytes;
      this.#base.startRead();
    } else {
      this.#refuse(malformed('there is more than one message'));
    }
  }

  takeEnd(): void {
    clearTimeout(this.#bodyTimer);
    if (this.#message === undefined) {
      this.#refuse(malformed('there is no message'));
    } else {
      this.#isComplete = true;
      this.#received?.resolve();
    }
  }

  /** The caller has left, or has been answered. Every call ends here, so it makes an error only for one who waits. */
  cancel(): void {
    this.#isOver = true;
    if (!this.#isComplete) this.#refuse(apiError('DEADLINE_EXCEEDED'));
  }

  /** Ends the call with a response. All of it goes out in one write: nobody waits between its parts, or sees half of it. */
  respond(response: Buffer): void {
    if (this.responseHeaders.size > 0) this.#base.sendMetadata(new HeadersToSend(this.responseHeaders));
    this.#base.sendMessage(response, () => undefined);
    this.end({ code: Status.OK, details: 'OK', metadata: null });
  }

  /** Ends the call with a response over HTTP, which has the headers of the response too. */
  respondHttp(response: HttpResponse): void {
    this.#isOver = true;
    sendHttpResponse(this.#base, response, this.responseHeaders);
  }

  /** Ends the call with a status. */
  end(status: PartialStatus | StatusObject): void {
    this.#sendStatus(status);
  }

  #refuse(fault: ApiError): void {
    clearTimeout(this.#bodyTimer);
    if (this.#received === undefined) this.#fault ??= fault;
    else this.#received.reject(fault);
  }

  /** What grpc-js would answer by itself, about the message or because the deadline has passed. */
  takeStatus(status: PartialStatus): void {
    switch (status.code) {
      case Status.DEADLINE_EXCEEDED:
        this.onExpired();
        this.cancel();
        break;
      case Status.RESOURCE_EXHAUSTED:
        this.#refuse(apiError('BODY_TOO_LARGE'));
        break;
      default:
        this.#refuse(malformed(status.details ?? 'it is no gRPC message', status.code));
    }
  }
}

/** Headers that are valid as they are: they go out unchanged, without the copies and checks of `Metadata.set`. */
class HeadersToSend extends Metadata {
  readonly #headers: ReadonlyMap<string, string>;

  constructor(headers: ReadonlyMap<string, string>) {
    super();
    this.#headers = headers;
  }

  override toHttp2Headers(): ReturnType<Metadata['toHttp2Headers']> {
    return Object.fromEntries(this.#headers);
  }
}

/** An encoding that the server does not know is UNIMPLEMENTED (gRPC's compression.md); all else is the caller's fault. */
function malformed(detail: string, code?: Status): ApiError {
  const isUnknownEncoding = code === Status.UNIMPLEMENTED;
  return apiError('MALFORMED_BODY', { detail }, isUnknownEncoding ? { grpcStatus: code } : {});
}
