/**
 * Limits the open streams per address for the services that need no key: health watches, reflection, files. An address
 * that has used up its streams does not affect others. A stream also has a maximum age, so it ends even when its caller
 * has forgotten it; a client that watches starts again.
 *
 * Unary calls without a key end at once and need no limit.
 *
 * grpc-js ends a call with a malformed message or deadline as INTERNAL. It is the caller's fault, so the status becomes
 * INVALID_ARGUMENT here.
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

interface RefusedCall {
  readonly metadata: Metadata;
  readonly responseHeaders: Map<string, string>;
}

export interface StreamLimits {
  /** How many streams an address may have open. */
  readonly maxPerAddress: number;
  /** The maximum age of a stream. */
  readonly maxMs: number;
  /** Makes the response to a caller over HTTP when a call is refused. */
  readonly toHttpError: ToHttpError;
  /** Called for each refused call, before its response is sent. It may add response headers. */
  readonly onEnd?: (call: RefusedCall, error: ApiError) => void;
}

export function limitStreams(limits: StreamLimits): ServerInterceptor {
  const { maxPerAddress, maxMs, toHttpError, onEnd = () => undefined } = limits;
  const streams = new InFlightCounter();

  /** Takes one of the address's streams, if it has any left. */
  const acquire = (address: string): boolean => {
    if (streams.increment(address) <= maxPerAddress) return true;
    streams.decrement(address);
    return false;
  };

  return ({ path, responseStream }, call) => {
    blameCaller(call);
    if (!responseStream) return new ServerInterceptingCall(call);
    let acquiredBy: string | undefined;
    let timer: NodeJS.Timeout | undefined;
    const end = (error: ApiError, metadata: Metadata) => {
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
            if (!acquire(address)) return end(tooMany(maxPerAddress), metadata);
            acquiredBy = address;
            timer = setTimeout(() => end(apiError('DEADLINE_EXCEEDED'), metadata), maxMs).unref();
            proceed(metadata);
          },
          // grpc-js calls this however the call ends, also when it succeeds.
          onCancel() {
            clearTimeout(timer);
            if (acquiredBy !== undefined) streams.decrement(acquiredBy);
            acquiredBy = undefined;
          },
        });
      },
    });
  };
}

/** The services behind this interceptor never fail with INTERNAL themselves, so that status is grpc-js's. */
function blameCaller(call: ServerInterceptingCallInterface): void {
  const sendStatus = call.sendStatus.bind(call);
  call.sendStatus = (status) => {
    const isInternal = status.code === Status.INTERNAL && !status.metadata;
    sendStatus(isInternal ? { ...status, code: Status.INVALID_ARGUMENT } : status);
  };
}

function tooMany(limit: number): ApiError {
  const retryAfterSeconds = 1;
  return apiError('RATE_LIMITED', { limit, window: AT_A_TIME, retryAfterSeconds }, { retryAfterSeconds });
}
