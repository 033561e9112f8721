/**
 * Records the metrics of calls: how each ended, how long it took, how many are open. A call whose caller has left
 * counts as CANCELLED, whatever its outcome: when Envoy hedges a read, the slower of the two calls is no failure.
 */
import { status as Status } from '@grpc/grpc-js';
import type { Caller } from '../caller.ts';
import type { FeedEnd, Observer } from '../chain.ts';
import { REPLAYED } from './idempotency.ts';

/** How a call ended. */
export interface Outcome {
  /** The gRPC path of a method of this server. */
  readonly path: string;
  readonly code: Status;
  /** Undefined for a stream: its caller decides how long it takes. */
  readonly seconds: number | undefined;
}

/** Receives the events of calls. Its methods must neither block nor throw. */
export interface CallRecorder {
  end(outcome: Outcome): void;
  /** A call failed with this error. The caller is undefined without a valid key. */
  fail(reason: string, caller: Caller | undefined): void;
  /** A feed ended for this reason. */
  endFeed(reason: FeedEnd): void;
  /** A call was answered from an idempotency record. */
  replay(): void;
}

export function recordMetrics(recorder: CallRecorder): Observer {
  return ({ operation, responseHeaders, caller }, { code, error, durationMs, feedEnd }) => {
    const { path, isStream } = operation;
    recorder.end({ path, code, seconds: isStream ? undefined : durationMs / 1_000 });
    if (code === Status.OK && responseHeaders.has(REPLAYED)) recorder.replay();
    if (feedEnd !== undefined) recorder.endFeed(feedEnd);
    if (feedEnd !== undefined && feedEnd !== 'error') return;
    if (code === Status.DEADLINE_EXCEEDED) recorder.fail('DEADLINE_EXCEEDED', caller);
    else if (code !== Status.CANCELLED && error !== undefined) recorder.fail(error.code, caller);
  };
}
