/**
 * Records the metrics of calls: how each ended, how long it took, how many are in flight. A call whose caller has left
 * counts as CANCELLED, whatever its outcome: when Envoy hedges a read, the slower of the two calls is no failure.
 */

import { status as Status } from '@grpc/grpc-js';
import { ApiError, type ErrorCode } from '../errors.ts';
import type { Caller } from '../keys/caller.ts';
import type { Call, Interceptor } from './chain.ts';
import { REPLAYED } from './idempotency.ts';

/** How a call ended. */
export interface Outcome {
  /** The gRPC path of a method of this server. */
  readonly path: string;
  readonly code: Status;
  readonly seconds: number;
}

/** Receives the events of calls. Its methods must neither block nor throw. */
export interface CallRecorder {
  begin(): void;
  end(outcome: Outcome): void;
  /** A call failed with this error. The caller is undefined without a valid key. */
  fail(reason: ErrorCode, caller: Caller | undefined): void;
  /** A call was answered from an idempotency record. */
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
        const { code, reason } = statusOf(call, error);
        recorder.end({ path: call.operation.path, code, seconds });
        if (reason !== undefined) recorder.fail(reason, call.caller);
      }
    },
  };
}

interface CallStatus {
  readonly code: Status;
  readonly reason?: ErrorCode;
}

function statusOf(call: Call, error: unknown): CallStatus {
  if (call.isCancelled()) return call.isLate() ? LATE : CANCELLED;
  if (error === undefined) return OK;
  return error instanceof ApiError ? { code: error.grpcStatus, reason: error.code } : UNEXPECTED;
}

const OK: CallStatus = { code: Status.OK };
const CANCELLED: CallStatus = { code: Status.CANCELLED };
const LATE: CallStatus = { code: Status.DEADLINE_EXCEEDED, reason: 'DEADLINE_EXCEEDED' };
const UNEXPECTED: CallStatus = { code: Status.INTERNAL, reason: 'INTERNAL' };
