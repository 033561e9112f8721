/** Counts the calls that do not pass the interceptor chain: health checks, reflection, files. */
import { ServerInterceptingCall, type ServerInterceptor, status as Status } from '@grpc/grpc-js';

/** Its methods must neither block nor throw. */
export interface CallCounter {
  begin(): void;
  /** `path` is the gRPC path of a method of this server. */
  end(path: string, code: Status): void;
}

/** Counts the calls of `interceptor`. */
export function countCalls(counter: CallCounter, interceptor: ServerInterceptor): ServerInterceptor {
  return (method, call) => {
    let hasEnded = false;
    const end = (code: Status) => {
      if (!hasEnded) counter.end(method.path, code);
      hasEnded = true;
    };
    const sendStatus = call.sendStatus.bind(call);
    call.sendStatus = (status) => {
      end(status.code ?? Status.UNKNOWN);
      sendStatus(status);
    };
    counter.begin();
    return interceptor(
      method,
      new ServerInterceptingCall(call, { start: (next) => next({ onCancel: () => end(Status.CANCELLED) }) }),
    );
  };
}
