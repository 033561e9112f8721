/**
 * Admission control of a client's calls: a few are in flight at a time, in the order in which they were made, and none
 * is sent while the account is over its limit.
 *
 * grpc-js's own retries are not enough for RESOURCE_EXHAUSTED. They wait for `grpc-retry-pushback-ms`, but
 *  - a call with an earlier deadline hangs until then and fails with DEADLINE_EXCEEDED. The server's error is lost, and
 *    no interceptor sees it, because retries happen below them;
 *  - each call finds out by itself that the limit is reached: a thousand calls at once are a thousand refusals, and
 *    twenty within a minute ban the key;
 *  - RESOURCE_EXHAUSTED is also the status of a message that is too large, which no retry makes smaller.
 *
 * So one refusal pauses all calls of the client until the time that the server named. A call with an earlier deadline
 * fails at once with the refusal; the others wait. At most `maxInFlight` calls are in flight when the limit is reached,
 * so no more can be refused in one window.
 */
import timers from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { clientError, PetstoreError } from './petstore-error.ts';

/** The longest pause. Then a call is sent again, as the limits may have been raised. */
const MAX_PAUSE_MS = 60_000;
/** The longest delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** When a call stops waiting. */
export interface Expiry {
  /** Unix milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
}

interface WaitingCall {
  readonly number: number;
  readonly deadlineMs: number;
  admit(): void;
  reject(error: unknown): void;
}

interface Pause {
  /** When the server accepts calls again. */
  readonly refusedUntilMs: number;
  /** When calls are sent again. */
  readonly endsAtMs: number;
  readonly refusal: PetstoreError;
}

export class Admission {
  readonly #maxInFlight: number;
  #inFlight = 0;
  #lastNumber = 0;
  /** In the order of their numbers. */
  readonly #queue: WaitingCall[] = [];
  #pause: Pause | undefined;
  #pauseTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Resolve the promises of `close`. */
  readonly #closing: (() => void)[] = [];

  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight;
  }

  /**
   * Runs `send` when the call is admitted, and again after each refusal that names a time before the deadline. Rejects
   * as `send` does; with the refusal when the pause outlasts the deadline; with DEADLINE_EXCEEDED when the deadline
   * passes before the call is sent; with the signal's reason when it aborts.
   */
  async run<T>(send: () => Promise<T>, expiry: Expiry): Promise<T> {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    const { deadlineMs, signal } = expiry;
    for (;;) {
      if (!this.#canSend()) await this.#enqueue(number, expiry);
      else this.#inFlight += 1;
      let retryAfterMs: number;
      try {
        if (this.#isClosed) throw closed();
        return await send();
      } catch (error) {
        if (!isRefusal(error)) throw error;
        retryAfterMs = error.retryAfterMs;
        this.#pauseFor(retryAfterMs, error);
        if (Date.now() + retryAfterMs >= deadlineMs) throw error;
      } finally {
        this.#inFlight -= 1;
        this.#dispatch();
      }
      // A shorter wait happens in the queue, ahead of younger calls.
      if (retryAfterMs > MAX_PAUSE_MS) await timers.setTimeout(retryAfterMs, undefined, signal && { signal });
    }
  }

  /** Rejects every call that waits, and every later one, as CANCELLED. Resolves when those in flight are over. */
  close(): Promise<void> {
    this.#isClosed = true;
    return new Promise((resolve) => {
      this.#closing.push(resolve);
      this.#dispatch();
    });
  }

  /** Whether a call may be sent without waiting. */
  #canSend(): boolean {
    const isPaused = this.#pause !== undefined && this.#pause.endsAtMs > Date.now();
    return !this.#isClosed && !isPaused && this.#queue.length === 0 && this.#inFlight < this.#maxInFlight;
  }

  /** Resolves when the call counts as one in flight. */
  #enqueue(number: number, { deadlineMs, signal }: Expiry): Promise<void> {
    return new Promise((resolve, reject) => {
      const dequeue = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#queue.splice(this.#queue.indexOf(waiting), 1);
      };
      const waiting: WaitingCall = {
        number,
        deadlineMs,
        admit() {
          dequeue();
          resolve();
        },
        reject(error) {
          dequeue();
          reject(error);
        },
      };
      const onAbort = () => waiting.reject(signal?.reason);
      const onDeadline = () =>
        waiting.reject(clientError('DEADLINE_EXCEEDED', 'the deadline passed before the call could be sent'));
      const timer = setTimeout(onDeadline, Math.min(deadlineMs - Date.now(), MAX_TIMER_MS));
      signal?.addEventListener('abort', onAbort, { once: true });
      const younger = this.#queue.findIndex((other) => other.number > number);
      this.#queue.splice(younger === -1 ? this.#queue.length : younger, 0, waiting);
      this.#dispatch();
    });
  }

  #pauseFor(retryAfterMs: number, refusal: PetstoreError): void {
    const nowMs = Date.now();
    const refusedUntilMs = nowMs + retryAfterMs;
    if (refusedUntilMs <= (this.#pause?.refusedUntilMs ?? 0)) return;
    this.#pause = { refusedUntilMs, endsAtMs: Math.min(refusedUntilMs, nowMs + MAX_PAUSE_MS), refusal };
  }

  /** Admits as many waiting calls as possible, or schedules that for the end of the pause. */
  #dispatch(): void {
    clearTimeout(this.#pauseTimer);
    if (this.#isClosed) {
      for (const waiting of [...this.#queue]) waiting.reject(closed());
      if (this.#inFlight === 0) for (const resolve of this.#closing.splice(0)) resolve();
      return;
    }
    if (this.#pause !== undefined && this.#pause.endsAtMs > Date.now()) {
      this.#waitForPauseEnd(this.#pause);
      return;
    }
    this.#pause = undefined;
    for (const waiting of this.#queue.slice(0, this.#maxInFlight - this.#inFlight)) {
      this.#inFlight += 1;
      waiting.admit();
    }
  }

  /** Rejects calls whose deadline comes before the end of the refusal. */
  #waitForPauseEnd({ refusedUntilMs, endsAtMs, refusal }: Pause): void {
    const nowMs = Date.now();
    for (const waiting of this.#queue.filter(({ deadlineMs }) => deadlineMs <= refusedUntilMs)) {
      const fields = { ...refusal, retryAfterMs: refusedUntilMs - nowMs };
      waiting.reject(new PetstoreError(refusal.message, fields, { cause: refusal }));
    }
    if (this.#queue.length > 0) this.#pauseTimer = setTimeout(() => this.#dispatch(), endsAtMs - nowMs);
  }
}

function closed(): PetstoreError {
  return clientError('CANCELLED', 'the client is closed');
}

function isRefusal(error: unknown): error is PetstoreError & { readonly retryAfterMs: number } {
  return (
    error instanceof PetstoreError && error.grpcStatus === status.RESOURCE_EXHAUSTED && error.retryAfterMs !== undefined
  );
}
