/**
 * Lets a client's calls out to the server: a few at a time, in the order in which they were made, and none while
 * the server has asked to be left alone.
 *
 * Why grpc-js's own retries are not enough for a 429. They do wait as long as `grpc-retry-pushback-ms` says, but
 *  - a call whose deadline comes first hangs until then and ends as DEADLINE_EXCEEDED: what the server said is lost,
 *    and no interceptor sees it, because retries happen below them;
 *  - each call learns for itself that the limit is used up: a thousand calls at once are a thousand refusals, and
 *    twenty within a minute ban the key;
 *  - RESOURCE_EXHAUSTED is also the status of a message that is too large, which no retry makes smaller.
 *
 * So: one refusal pauses all calls of the client until the time that the server named. A call whose deadline comes
 * before that fails at once, with the refusal; the others wait and are sent then. No more than `maxInFlight`
 * calls can be on their way when the limit is reached, and therefore no more can be refused in one window.
 */
import timers from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { endedHere, PetstoreError } from './petstore-error.ts';

/** A refusal pauses other calls no longer than this; then the server is asked again, as limits may have been raised. */
const MAX_PAUSE_MS = 60_000;
/** The longest that a timer can run. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** How long a call can wait. */
export interface Patience {
  /** Unix milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
}

interface Waiting {
  readonly number: number;
  readonly deadlineMs: number;
  settle(error?: unknown): void;
}

interface Pause {
  /** When the server wants to be asked again. */
  readonly refusedUntilMs: number;
  /** When it is asked again. */
  readonly endsAtMs: number;
  readonly refusal: PetstoreError;
}

export class Admission {
  readonly #maxInFlight: number;
  #inFlight = 0;
  #lastNumber = 0;
  /** In the order of their numbers. */
  readonly #queue: Waiting[] = [];
  #pause: Pause | undefined;
  #pauseTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Who waits until it is closed and nothing is in flight any more. */
  readonly #closing: (() => void)[] = [];

  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight;
  }

  /**
   * Runs `send` when its turn comes, and again after each refusal that names a time before the deadline. Rejects as
   * `send` does; with the refusal when the pause outlasts the deadline; with DEADLINE_EXCEEDED when the deadline
   * passes before the call could be sent; with the signal's reason when it aborts.
   */
  async run<T>(send: () => Promise<T>, patience: Patience): Promise<T> {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    const { deadlineMs, signal } = patience;
    for (;;) {
      if (!this.#isFree()) await this.#turn(number, patience);
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
        this.#letOut();
      }
      // A shorter wait is spent in the queue, in front of younger calls.
      if (retryAfterMs > MAX_PAUSE_MS) await timers.setTimeout(retryAfterMs, undefined, signal && { signal });
    }
  }

  /** Rejects every call that waits, and every later one, as CANCELLED. Resolves when those in flight are over. */
  close(): Promise<void> {
    this.#isClosed = true;
    return new Promise((resolve) => {
      this.#closing.push(resolve);
      this.#letOut();
    });
  }

  /** Whether a call may go without waiting. */
  #isFree(): boolean {
    const isPaused = this.#pause !== undefined && this.#pause.endsAtMs > Date.now();
    return !this.#isClosed && !isPaused && this.#queue.length === 0 && this.#inFlight < this.#maxInFlight;
  }

  /** Resolves when the call has its place among those in flight. */
  #turn(number: number, { deadlineMs, signal }: Patience): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: unknown) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#queue.splice(this.#queue.indexOf(waiting), 1);
        if (error === undefined) resolve();
        else reject(error);
      };
      const waiting: Waiting = { number, deadlineMs, settle };
      const onAbort = () => settle(signal?.reason);
      const onDeadline = () =>
        settle(endedHere('DEADLINE_EXCEEDED', 'the deadline passed before the call could be sent'));
      const timer = setTimeout(onDeadline, Math.min(deadlineMs - Date.now(), MAX_TIMER_MS));
      signal?.addEventListener('abort', onAbort, { once: true });
      const younger = this.#queue.findIndex((other) => other.number > number);
      this.#queue.splice(younger === -1 ? this.#queue.length : younger, 0, waiting);
      this.#letOut();
    });
  }

  #pauseFor(retryAfterMs: number, refusal: PetstoreError): void {
    const nowMs = Date.now();
    const refusedUntilMs = nowMs + retryAfterMs;
    if (refusedUntilMs <= (this.#pause?.refusedUntilMs ?? 0)) return;
    this.#pause = { refusedUntilMs, endsAtMs: Math.min(refusedUntilMs, nowMs + MAX_PAUSE_MS), refusal };
  }

  #letOut(): void {
    clearTimeout(this.#pauseTimer);
    if (this.#isClosed) {
      for (const waiting of [...this.#queue]) waiting.settle(closed());
      if (this.#inFlight === 0) for (const resolve of this.#closing.splice(0)) resolve();
      return;
    }
    if (this.#pause !== undefined && this.#pause.endsAtMs > Date.now()) {
      this.#holdBack(this.#pause);
      return;
    }
    this.#pause = undefined;
    for (const waiting of this.#queue.slice(0, this.#maxInFlight - this.#inFlight)) {
      this.#inFlight += 1;
      waiting.settle();
    }
  }

  /** Who can't wait as long as the server wants is told at once. */
  #holdBack({ refusedUntilMs, endsAtMs, refusal }: Pause): void {
    const nowMs = Date.now();
    for (const waiting of this.#queue.filter(({ deadlineMs }) => deadlineMs <= refusedUntilMs)) {
      const fields = { ...refusal, retryAfterMs: refusedUntilMs - nowMs };
      waiting.settle(new PetstoreError(refusal.message, fields, { cause: refusal }));
    }
    if (this.#queue.length > 0) this.#pauseTimer = setTimeout(() => this.#letOut(), endsAtMs - nowMs);
  }
}

function closed(): PetstoreError {
  return endedHere('CANCELLED', 'the client is closed');
}

function isRefusal(error: unknown): error is PetstoreError & { readonly retryAfterMs: number } {
  return (
    error instanceof PetstoreError && error.grpcStatus === status.RESOURCE_EXHAUSTED && error.retryAfterMs !== undefined
  );
}
