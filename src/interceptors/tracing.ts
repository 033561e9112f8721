/** Runs each call in a span of a trace. */
import type { Metadata, status as Status } from '@grpc/grpc-js';
import type { StreamInterceptor } from './chain.ts';

/** The span of a call. */
export interface CallSpan {
  run<T>(work: () => T): T;
  end(status: Status, errorCode?: string): void;
}

export interface CallTracer {
  /** Starts a span. Its parent is the span in the metadata (`traceparent`, W3C Trace Context). */
  startCall(metadata: Metadata, path: string): CallSpan;
}

export function traceCalls(tracer: CallTracer): StreamInterceptor {
  return {
    name: 'tracing',
    after: {},
    forStreams: true,
    intercept(call, next) {
      const span = tracer.startCall(call.metadata, call.operation.path);
      const { onEnd } = call;
      // What listens to the end of the call, such as the log, belongs to the span too.
      call.onEnd = (listener) => onEnd.call(call, (end) => span.run(() => listener(end)));
      call.onEnd(({ code, error }) => span.end(code, error?.code));
      return span.run(() => next(call));
    },
  };
}
