/**
 * Bounds what one address may hold open of the streams that need no key: health watches, reflection, files. What one
 * address has used up costs no other a response. A stream also has a longest life, so that it ends even when its caller
 * has forgotten it; a client that watches asks again.
 *
 * Unary calls without a key are answered at once and need no bound.
 *
 * What grpc-js can't read of a message or a deadline it calls INTERNAL. It is the caller's fault, and so it is called here.
 */
import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status as Status,
} from '@grpc/grpc-js';
import { type ApiError, AT_A_TIME, apiError } from '../errors.ts';
import { addressOf } from '../interceptors/address.ts';
import { InFlightCounter } from '../interceptors/in-flight-counter.ts';
import { errorStatus, type ToHttpError } from './http-response.ts';

interface Refused {
  readonly metadata: Metadata;
  readonly responseHeaders: Map<string, string>;
}

export interface StreamLimits {
  /** How many streams one address may have open. */
  readonly maxPerAddress: number;
  /** How long a stream may last. */
  readonly maxMs: number;
  /** What a caller over HTTP gets when a call is refused. */
  readonly toHttpError: ToHttpError;
  /** Told of each refusal: it may add headers to the response. */
  readonly onEnd?: (call: Refused, error: ApiError) => void;
}

export function limitStreams(options: StreamLimits): ServerInterceptor {
  const { maxPerAddress, maxMs, toHttpError, onEnd = () => undefined } = options;
  const streams = new InFlightCounter();

  const enter = (address: string): boolean => {
    if (streams.increment(address) <= maxPerAddress) return true;
    streams.decrement(address);
    return false;
  };

  return ({ path, responseStream }, call) => {
    blameCaller(call);
    if (!responseStream) return new ServerInterceptingCall(call);
    let entered: string | undefined;
    let timer: NodeJS.Timeout | undefined;
    const refuse = (error: ApiError, metadata: Metadata) => {
      const responseHeaders = new Map<string, string>();
      onEnd({ metadata, responseHeaders }, error);
      const http = toHttpError({ metadata, path }, error);
      call.sendStatus(errorStatus(error, http, responseHeaders));
    };
    return new ServerInterceptingCall(call, {
      start(next) {
        next({
          onReceiveMetadata(metadata, proceed) {
            const address = addressOf({ metadata, peer: () => call.getPeer() });
            if (!enter(address)) return refuse(tooMany(maxPerAddress), metadata);
            entered = address;
            timer = setTimeout(() => refuse(apiError('DEADLINE_EXCEEDED'), metadata), maxMs).unref();
            proceed(metadata);
          },
          // However the call ends, with a response too.
          onCancel() {
            clearTimeout(timer);
            if (entered !== undefined) streams.decrement(entered);
            entered = undefined;
          },
        });
      },
    });
  };
}

/** The services that this stands before never fail by themselves: what is INTERNAL comes from grpc-js. */
function blameCaller(call: ServerInterceptingCallInterface): void {
  const send = call.sendStatus.bind(call);
  call.sendStatus = (status) => {
    const isInternal = status.code === Status.INTERNAL && !status.metadata;
    send(isInternal ? { ...status, code: Status.INVALID_ARGUMENT } : status);
  };
}

function tooMany(limit: number): ApiError {
  const retryAfterSeconds = 1;
  return apiError('RATE_LIMITED', { limit, window: AT_A_TIME, retryAfterSeconds }, { retryAfterSeconds });
}
