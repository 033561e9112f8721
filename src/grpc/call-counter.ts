/** Counts the calls that grpc-js handles by itself: health checks, reflection, files. */
import { ServerInterceptingCall, type ServerInterceptor, status as Status } from '@grpc/grpc-js';

/** Is told of calls by their paths, which are those of methods that the server has. It never waits or throws. */
export interface CallCounter {
  begin(): void;
  end(path: string, code: Status): void;
}

/** Tells of the calls that `interceptor` stands before. */
export function countCalls(recorder: CallCounter, interceptor: ServerInterceptor): ServerInterceptor {
  return (method, call) => {
    let hasEnded = false;
    const end = (code: Status) => {
      if (!hasEnded) recorder.end(method.path, code);
      hasEnded = true;
    };
    const send = call.sendStatus.bind(call);
    call.sendStatus = (status) => {
      end(status.code ?? Status.UNKNOWN);
      send(status);
    };
    recorder.begin();
    return interceptor(
      method,
      new ServerInterceptingCall(call, { start: (next) => next({ onCancel: () => end(Status.CANCELLED) }) }),
    );
  };
}
