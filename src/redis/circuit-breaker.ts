/**
 * Says whether Redis is there, and asks it with bounded patience.
 *
 * Redis is away from the first command that fails, for whatever reason, or that waits while nothing at all is heard for
 * a second: all that wait are told at once, and nobody asks until `prepare` has succeeded, which is tried again and
 * again. `onUnavailable` is told once, with the cause, until `onAvailable` was: an hour without Redis is one line in the log.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { RedisClient } from './client.ts';

/** How long a start waits for Redis, which may be starting as well. */
const START_MS = 1_000;
/** One slow answer is not an absence: a busy machine or a long command of somebody else's takes less. */
const TIMEOUT_MS = 1_000;
/** Silence is counted in looks, not by the clock: a process that was busy itself has had no chance to hear anything. */
const LOOKS = 5;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [50, 500];

export interface RedisCircuitBreakerOptions {
  readonly client: RedisClient;
  readonly timeoutMs?: number | undefined;
  /** Makes Redis ready; calls `allowCommands` when commands may come. */
  readonly prepare: (allowCommands: () => void) => Promise<unknown>;
  readonly onUnavailable: (cause: string) => void;
  readonly onAvailable: () => void;
}

export class RedisCircuitBreaker {
  readonly #options: RedisCircuitBreakerOptions;
  /** How to tell each who waits for an answer that there is none. */
  readonly #waiting = new Set<() => void>();
  readonly #closing = new AbortController();
  #hasHeard = false;
  #isUp = false;
  #isAwayTold = false;
  #returning: Promise<void> | undefined;

  constructor(options: RedisCircuitBreakerOptions) {
    this.#options = options;
    const { timeoutMs = TIMEOUT_MS } = options;
    let silentLooks = 0;
    const look = () => {
      silentLooks = this.#waiting.size > 0 && !this.#hasHeard ? silentLooks + 1 : 0;
      this.#hasHeard = false;
      if (silentLooks > LOOKS) this.#away();
    };
    const watch = setInterval(look, timeoutMs / LOOKS).unref();
    options.client.onError = (error) => this.#isUp && this.#away(error);
    this.#closing.signal.addEventListener('abort', () => clearInterval(watch));
  }

  /** Commands may be sent. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** It is up, and `prepare` is done. */
  get isBack(): boolean {
    return this.#isUp && this.#returning === undefined;
  }

  /** Resolves when Redis is there, and after a second without. */
  async start(): Promise<void> {
    this.#returning = this.#return();
    await Promise.race([this.#returning, delay(START_MS, undefined, { ref: false })]);
    if (!this.isBack) this.#away();
  }

  /** The answer to a command; undefined when Redis went away before there was one. */
  ask<T>(command: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve) => {
      const giveUp = () => resolve(undefined);
      this.#waiting.add(giveUp);
      const onAnswer = (answer: T) => {
        this.#hasHeard = true;
        this.#waiting.delete(giveUp);
        resolve(answer);
      };
      command.then(onAnswer, (error: unknown) => this.#waiting.has(giveUp) && this.#away(error));
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#options.client.close();
    this.#away();
    await this.#returning;
  }

  #away(error?: unknown): void {
    this.#isUp = false;
    for (const giveUp of this.#waiting) giveUp();
    this.#waiting.clear();
    if (this.#closing.signal.aborted) return;
    if (!this.#isAwayTold) this.#options.onUnavailable(this.#options.client.describe(error));
    this.#isAwayTold = true;
    this.#returning ??= this.#return();
  }

  async #return(): Promise<void> {
    const { signal } = this.#closing;
    const allowCommands = () => {
      this.#isUp = true;
    };
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await this.#options.prepare(allowCommands).catch((error: unknown) => this.#isUp && this.#away(error));
      if (this.#isUp) break;
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    this.#returning = undefined;
    if (this.#isAwayTold && this.#isUp) this.#options.onAvailable();
    this.#isAwayTold = false;
  }
}
