/** Runs each call in a span of a trace. */
import { status as Status } from '@grpc/grpc-js';
import { ApiError } from '../errors.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { Interceptor } from './chain.ts';

export function traceCalls({ inCall }: Pick<Tracing, 'inCall'>): Interceptor {
  return {
    name: 'tracing',
    after: {},
    before: { logging: 'so that each line of a call has the id of its trace' },
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
