/**
 * Admission control of a client's calls: a few are in flight at a time, in the order in which they began to wait. One
 * refusal pauses all. A call with an earlier deadline fails at once with the refusal; the others wait.
 *
 * grpc-js's own retries are not enough for RESOURCE_EXHAUSTED: a call whose deadline comes before the time that the
 * server named hangs and loses the server's error; each of a thousand calls finds out by itself that the limit is
 * reached, and twenty refusals ban the key; and a message that is too large has the same status.
 */
import { status } from '@grpc/grpc-js';
import { CallError, clientError } from './call-error.ts';

/** The shortest pause, whatever the server says. */
const MIN_PAUSE_MS = 100;
/** The longest pause. Then calls are sent again, as the limits may have been raised. */
const MAX_PAUSE_MS = 60_000;
/** The longest delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** When a call stops waiting. All times are those of `performance.now()`, a clock that nobody sets. */
export interface Expiry {
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
}

interface WaitingCall {
  readonly deadlineMs: number;
  /** Sends the call, or fails it with an error. */
  readonly end: (error?: unknown) => void;
}

export class Admission {
  readonly #maxInFlight: number;
  #inFlight = 0;
  readonly #waiting = new Set<WaitingCall>();
  /** The last refusal, and when the server accepts calls again. */
  #refusal: { readonly error: CallError; readonly endsAtMs: number } | undefined;
  #pausedUntilMs = 0;
  #pauseTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #onIdle = () => {};
  /** Resolves when no call is in flight and none will be. */
  readonly #idle = new Promise<void>((resolve) => {
    this.#onIdle = resolve;
  });

  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight;
  }

  /**
   * Runs `send` when the call is admitted, and again after each refusal that names a time before the deadline. Rejects
   * as `send` does; with the refusal when that outlasts the deadline; with DEADLINE_EXCEEDED when the deadline passes
   * before the call is sent; with the signal's reason when it aborts.
   */
  async run<T>(send: () => Promise<T>, expiry: Expiry): Promise<T> {
    while (!expiry.signal?.aborted) {
      await this.#turn(expiry);
      try {
        if (expiry.signal?.aborted) break; // since the call was admitted
        return await send();
      } catch (error) {
        const isRefusal = error instanceof CallError && error.grpcStatus === status.RESOURCE_EXHAUSTED;
        if (!isRefusal || error.retryAfterMs === undefined) throw error;
        const nowMs = performance.now();
        this.#refusal = { error, endsAtMs: nowMs + error.retryAfterMs };
        this.#pausedUntilMs = nowMs + Math.min(Math.max(error.retryAfterMs, MIN_PAUSE_MS), MAX_PAUSE_MS);
        if (this.#refusal.endsAtMs >= expiry.deadlineMs) throw error;
      } finally {
        this.#inFlight -= 1;
        this.#dispatch();
      }
    }
    throw expiry.signal?.reason;
  }

  /** Rejects every call that waits, and every later one, as CANCELLED. Resolves when those in flight are over. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#dispatch();
    return this.#idle;
  }

  /** Resolves when the call counts as one in flight. */
  #turn({ deadlineMs, signal }: Expiry): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (error?: unknown) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(call);
        if (error !== undefined) return reject(error);
        this.#inFlight += 1;
        resolve();
      };
      const call = { deadlineMs, end };
      const onAbort = () => end(signal?.reason);
      const onDeadline = () =>
        end(clientError('DEADLINE_EXCEEDED', 'the deadline passed before the call could be sent'));
      const timer = setTimeout(onDeadline, Math.min(Math.max(0, deadlineMs - performance.now()), MAX_TIMER_MS));
      signal?.addEventListener('abort', onAbort);
      this.#waiting.add(call);
      this.#dispatch();
    });
  }

  /** Ends the waiting of every call that may be sent, or that waits in vain. */
  #dispatch(): void {
    const nowMs = performance.now();
    const refusal = this.#pausedUntilMs > nowMs ? this.#refusal : undefined;
    for (const { deadlineMs, end } of this.#waiting) {
      if (this.#isClosed) end(clientError('CANCELLED', 'the client is closed'));
      else if (refusal !== undefined) {
        const { error, endsAtMs } = refusal;
        const retryAfterMs = Math.ceil(endsAtMs - nowMs);
        if (deadlineMs <= endsAtMs) end(new CallError(error.message, { ...error, retryAfterMs }));
      } else if (this.#inFlight < this.#maxInFlight) end();
      else break;
    }
    if (this.#isClosed && this.#inFlight === 0) this.#onIdle();
    clearTimeout(this.#pauseTimer);
    if (refusal === undefined || this.#waiting.size === 0) return;
    this.#pauseTimer = setTimeout(() => this.#dispatch(), this.#pausedUntilMs - nowMs);
  }
}
