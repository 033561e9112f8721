/**
 * Logs the outcome of each call: at `debug`, or at `error` with the cause when the server is at fault. Request headers
 * and bodies are never logged.
 */
import type { Logger } from 'pino';
import { ApiError } from '../errors.ts';
import type { Interceptor } from './chain.ts';

export function logging(logger: Logger): Interceptor {
  return {
    name: 'logging',
    after: {},
    async intercept(call, next) {
      const startMs = performance.now();
      let outcome: string = 'OK';
      let cause: unknown;
      try {
        return await next(call);
      } catch (error) {
        outcome = error instanceof ApiError ? error.code : 'UNCAUGHT';
        cause = error instanceof ApiError ? error.cause : error;
        throw error;
      } finally {
        const level = cause === undefined ? 'debug' : 'error';
        if (logger.isLevelEnabled(level)) {
          logger[level](
            {
              requestId: call.requestId,
              method: call.operation.path,
              outcome,
              durationMs: Math.round((performance.now() - startMs) * 1000) / 1000,
              ...(cause === undefined ? {} : { err: cause }),
            },
            'call',
          );
        }
      }
    },
  };
}
