/** Runs each call in a span of a trace. */
import { type Metadata, status as Status } from '@grpc/grpc-js';
import { ApiError } from '../errors.ts';
import type { Interceptor } from './chain.ts';

export interface CallTracer {
  /**
   * Runs a call in a span. Its parent is the span in the metadata (`traceparent`, W3C Trace Context). `work` calls
   * `end` with the gRPC status of the call and, for an error, its code.
   */
  inCall<T>(
    metadata: Metadata,
    path: string,
    work: (end: (status: Status, errorCode?: string) => void) => Promise<T>,
  ): Promise<T>;
}

export function traceCalls({ inCall }: CallTracer): Interceptor {
  return {
    name: 'tracing',
    after: {},
    before: { logging: 'so that each log line of a call has its trace id' },
    intercept: (call, next) =>
      inCall(call.metadata, call.operation.path, async (end) => {
        try {
          const response = await next(call);
          end(Status.OK);
          return response;
        } catch (error) {
          if (error instanceof ApiError) end(error.grpcStatus, error.code);
          else end(Status.INTERNAL, 'INTERNAL');
          throw error;
        }
      }),
  };
}
