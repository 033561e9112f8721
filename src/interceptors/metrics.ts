/**
 * Counts calls: how each ended, how long it took, how many are under way. A call whose caller has left is CANCELLED,
 * whatever became of it: of a read that Envoy sent to two servers, the slower one's is no failure.
 */

import { status as Status } from '@grpc/grpc-js';
import { ApiError, type ErrorCode } from '../errors.ts';
import type { Caller } from '../keys/caller.ts';
import type { Call, Interceptor } from './chain.ts';
import { REPLAYED } from './idempotency.ts';

/** How a call ended. */
export interface Outcome {
  /** The gRPC path, of a method that the server has. */
  readonly path: string;
  readonly code: Status;
  readonly seconds: number;
}

/** Is told of calls. It never waits or throws. */
export interface CallRecorder {
  begin(): void;
  end(outcome: Outcome): void;
  /** A call got an error of the table. It has no caller when its key is not valid, or when there is none. */
  fail(reason: ErrorCode, caller: Caller | undefined): void;
  /** A call was answered from the record of an earlier one. */
  replay(): void;
}

export function recordMetrics(recorder: CallRecorder): Interceptor {
  return {
    name: 'metrics',
    after: {},
    before: { errorMapping: 'so that a call is counted with the error that its caller sees' },
    async intercept(call, next) {
      const startMs = performance.now();
      recorder.begin();
      let error: unknown;
      try {
        const response = await next(call);
        if (call.responseHeaders.has(REPLAYED)) recorder.replay();
        return response;
      } catch (thrown) {
        error = thrown;
        throw thrown;
      } finally {
        const seconds = (performance.now() - startMs) / 1_000;
        const { code, reason } = judge(call, error);
        recorder.end({ path: call.operation.path, code, seconds });
        if (reason !== undefined) recorder.fail(reason, call.caller);
      }
    },
  };
}

interface Judged {
  readonly code: Status;
  readonly reason?: ErrorCode;
}

function judge(call: Call, error: unknown): Judged {
  if (call.isCancelled()) return call.isLate() ? LATE : LEFT;
  if (error === undefined) return WELL;
  return error instanceof ApiError ? { code: error.grpcStatus, reason: error.code } : UNFORESEEN;
}

const WELL: Judged = { code: Status.OK };
const LEFT: Judged = { code: Status.CANCELLED };
const LATE: Judged = { code: Status.DEADLINE_EXCEEDED, reason: 'DEADLINE_EXCEEDED' };
const UNFORESEEN: Judged = { code: Status.INTERNAL, reason: 'INTERNAL' };
