/**
 * A unary call, from its headers on. The message is not read before `receive`, so a caller who is refused gets the
 * error at once, even when the message never arrives.
 *
 * grpc-js reads the message of a unary call before anything else. Therefore `InterceptedUnaryCall` replaces its
 * handling of such calls and works on the layer below, `ServerInterceptingCallInterface`.
 *
 * Failure: for a bad message (too large, not decompressible, with a malformed timeout) grpc-js ends the call itself, as
 * INTERNAL and without details. Here `receive` rejects with an ApiError instead.
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
import { headerOf } from '../interceptors/metadata.ts';
import type { Caller } from '../keys/caller.ts';
import type { Remember } from '../model.ts';
import type { Operation } from '../proto/operations.ts';
import type { EntityTags } from '../services/entity-tags.ts';
import { removeListeners, sendHttpResponse } from './http-response.ts';

type BaseCall = ServerInterceptingCallInterface;
type PartialStatus = Parameters<BaseCall['sendStatus']>[0];

/** Longer request ids are replaced: they would only fill the logs. */
const MAX_REQUEST_ID = 128;

/** A method whose calls pass the interceptor chain. */
export interface InterceptedMethod {
  readonly operation: Operation;
  readonly responseCodec: ResponseCodec;
  readonly decodeRequest: (bytes: Buffer) => unknown;
  /** Called once per call, when its headers have arrived. */
  readonly handle: (call: UnaryCall) => void;
}

/** Replaces grpc-js's own handling of a unary call. */
export class InterceptedUnaryCall extends ServerInterceptingCall {
  readonly #base: BaseCall;
  readonly #method: InterceptedMethod;

  constructor(base: BaseCall, method: InterceptedMethod) {
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
        base.sendStatus = (status) => call?.onStatus(status); // from here on only grpc-js itself calls it
        this.#method.handle(call);
      },
      onReceiveMessage: (bytes: Buffer) => call?.onMessage(bytes),
      onReceiveHalfClose: () => call?.onHalfClose(),
      onCancel: () => {
        call?.onEnd();
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
  /** Called when the deadline has passed. It has to end the call. */
  onExpired: () => void = () => undefined;
  readonly #base: BaseCall;
  /** The original method of `#base`, which `InterceptedUnaryCall` replaces. */
  readonly #sendStatus: BaseCall['sendStatus'];
  readonly #decodeRequest: InterceptedMethod['decodeRequest'];
  #message: Buffer | undefined;
  #request: unknown;
  #receiving: PromiseWithResolvers<void> | undefined;
  #bodyTimer: NodeJS.Timeout | undefined;
  /** An error in the message, found before `receive` was called. */
  #earlyError: ApiError | undefined;
  #isReceived = false;
  #hasEnded = false;

  constructor(
    base: BaseCall,
    sendStatus: BaseCall['sendStatus'],
    { operation, responseCodec, decodeRequest }: InterceptedMethod,
    metadata: Metadata,
  ) {
    this.operation = operation;
    this.responseCodec = responseCodec;
    this.#decodeRequest = decodeRequest;
    this.metadata = metadata;
    const requestId = headerOf(this, 'x-request-id');
    this.requestId = requestId !== undefined && requestId.length <= MAX_REQUEST_ID ? requestId : randomUUID();
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

  isCancelled = (): boolean => this.#hasEnded || this.isLate();

  isLate = (): boolean => Date.now() >= Number(this.#base.getDeadline());

  receive(): Promise<void> {
    this.#receiving = Promise.withResolvers();
    if (this.#earlyError !== undefined) {
      this.#receiving.reject(this.#earlyError);
    } else if (this.#hasEnded) {
      this.#receiving.reject(apiError('DEADLINE_EXCEEDED'));
    } else {
      this.#startBodyTimer();
      this.#base.startRead();
    }
    return this.#receiving.promise;
  }

  /** A call whose deadline is earlier needs no timer; calls from REST always have such a deadline. */
  #startBodyTimer(): void {
    if (Number(this.#base.getDeadline()) - Date.now() < BODY_TIMEOUT_MS) return;
    this.#bodyTimer = setTimeout(() => this.#failReceive(apiError('REQUEST_TIMEOUT')), BODY_TIMEOUT_MS);
  }

  onMessage(bytes: Buffer): void {
    if (this.#message === undefined) {
      this.#message = bytes;
      this.#base.startRead();
    } else {
      this.#failReceive(malformed('there is more than one message'));
    }
  }

  /** The caller has sent everything. */
  onHalfClose(): void {
    clearTimeout(this.#bodyTimer);
    if (this.#message === undefined) {
      this.#failReceive(malformed('there is no message'));
    } else {
      this.#isReceived = true;
      this.#receiving?.resolve();
    }
  }

  /** The caller has left, or the response has been sent. */
  onEnd(): void {
    this.#hasEnded = true;
    // Every call ends here, and an error costs a stack trace: none for a call that has its message.
    if (!this.#isReceived) this.#failReceive(apiError('DEADLINE_EXCEEDED'));
  }

  /** grpc-js would end the call with this status: because of a bad message, or because the deadline has passed. */
  onStatus(status: PartialStatus): void {
    switch (status.code) {
      case Status.DEADLINE_EXCEEDED:
        this.onExpired();
        this.onEnd();
        break;
      case Status.RESOURCE_EXHAUSTED:
        this.#failReceive(apiError('BODY_TOO_LARGE'));
        break;
      default:
        this.#failReceive(malformed(status.details ?? 'it is no gRPC message', status.code));
    }
  }

  /** Ends the call with a response message. Headers, message and status leave in one write. */
  respond(bytes: Buffer): void {
    if (this.responseHeaders.size > 0) this.#base.sendMetadata(new ResponseMetadata(this.responseHeaders));
    this.#base.sendMessage(bytes, () => undefined);
    this.end({ code: Status.OK, details: 'OK', metadata: null });
  }

  /** Ends the call with a response over HTTP. `responseHeaders` are added to it. */
  respondHttp(response: HttpResponse): void {
    this.#hasEnded = true;
    sendHttpResponse(this.#base, response, this.responseHeaders);
  }

  /** Ends the call with a status alone. */
  end(status: PartialStatus | StatusObject): void {
    this.#sendStatus(status);
  }

  #failReceive(error: ApiError): void {
    clearTimeout(this.#bodyTimer);
    if (this.#receiving === undefined) this.#earlyError ??= error;
    else this.#receiving.reject(error);
  }
}

/** Valid headers, sent as they are: without the copies and checks of `Metadata.set`. */
class ResponseMetadata extends Metadata {
  readonly #headers: ReadonlyMap<string, string>;

  constructor(headers: ReadonlyMap<string, string>) {
    super();
    this.#headers = headers;
  }

  override toHttp2Headers(): ReturnType<Metadata['toHttp2Headers']> {
    return Object.fromEntries(this.#headers);
  }
}

/** An unknown compression is UNIMPLEMENTED (gRPC's compression.md); every other error is the caller's fault. */
function malformed(detail: string, code?: Status): ApiError {
  const isUnknownEncoding = code === Status.UNIMPLEMENTED;
  return apiError('MALFORMED_BODY', { detail }, isUnknownEncoding ? { grpcStatus: code } : {});
}
