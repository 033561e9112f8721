/**
 * A circuit breaker for Redis: knows whether Redis is available, and bounds how long a command waits for its reply.
 *
 * Redis is unavailable after the first command that fails for whatever reason, or when commands wait and no reply at
 * all arrives for a second. Then all waiting commands end without a reply, and no commands should be sent until
 * `prepare` has succeeded, which is tried again and again. `onUnavailable` is called once per outage, with the cause:
 * an hour without Redis is one line in the log.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { RedisClient } from './client.ts';

/** How long a start waits for Redis, which may be starting as well. */
const START_MS = 1_000;
/** One slow reply is no outage: a busy machine, or a long command of another client, takes less than this. */
const TIMEOUT_MS = 1_000;
/** Silence is measured in checks, not by the clock: a process that was itself busy could not receive anything. */
const CHECKS_PER_TIMEOUT = 5;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [50, 500];

export interface RedisCircuitBreakerOptions {
  readonly client: RedisClient;
  /** How long commands wait while no reply arrives. */
  readonly timeoutMs?: number | undefined;
  /** Tests Redis and brings its data up to date. Calls `allowCommands` once other commands may be sent meanwhile. */
  readonly prepare: (allowCommands: () => void) => Promise<unknown>;
  readonly onUnavailable: (cause: string) => void;
  readonly onAvailable: () => void;
}

export class RedisCircuitBreaker {
  readonly #options: RedisCircuitBreakerOptions;
  /** For each waiting command, a function that ends the wait without a reply. */
  readonly #waiting = new Set<() => void>();
  readonly #closing = new AbortController();
  /** A reply has arrived since the last check. */
  #hasReply = false;
  #isAvailable = false;
  /** `onUnavailable` was called for the current outage. */
  #isReported = false;
  #recovery: Promise<void> | undefined;

  constructor(options: RedisCircuitBreakerOptions) {
    this.#options = options;
    const { timeoutMs = TIMEOUT_MS } = options;
    let silentChecks = 0;
    const check = () => {
      silentChecks = this.#waiting.size > 0 && !this.#hasReply ? silentChecks + 1 : 0;
      this.#hasReply = false;
      if (silentChecks > CHECKS_PER_TIMEOUT) this.#open();
    };
    const timer = setInterval(check, timeoutMs / CHECKS_PER_TIMEOUT).unref();
    options.client.onError = (error) => this.#isAvailable && this.#open(error);
    this.#closing.signal.addEventListener('abort', () => clearInterval(timer));
  }

  /** Whether commands may be sent. */
  get isAvailable(): boolean {
    return this.#isAvailable;
  }

  /** Whether commands may be sent and `prepare` is done. */
  get isReady(): boolean {
    return this.#isAvailable && this.#recovery === undefined;
  }

  /** Resolves when Redis is ready, or after a second without it. */
  async start(): Promise<void> {
    this.#recovery = this.#recover();
    await Promise.race([this.#recovery, delay(START_MS, undefined, { ref: false })]);
    if (!this.isReady) this.#open();
  }

  /** Resolves with the reply to a command; with undefined if Redis became unavailable before the reply arrived. */
  guard<T>(command: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve) => {
      const giveUp = () => resolve(undefined);
      this.#waiting.add(giveUp);
      const onReply = (reply: T) => {
        this.#hasReply = true;
        this.#waiting.delete(giveUp);
        resolve(reply);
      };
      command.then(onReply, (error: unknown) => this.#waiting.has(giveUp) && this.#open(error));
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#options.client.close();
    this.#open();
    await this.#recovery;
  }

  /** Ends all waits, and starts the recovery unless it is already running. */
  #open(error?: unknown): void {
    this.#isAvailable = false;
    for (const giveUp of this.#waiting) giveUp();
    this.#waiting.clear();
    if (this.#closing.signal.aborted) return;
    if (!this.#isReported) this.#options.onUnavailable(this.#options.client.describe(error));
    this.#isReported = true;
    this.#recovery ??= this.#recover();
  }

  async #recover(): Promise<void> {
    const { signal } = this.#closing;
    const allowCommands = () => {
      this.#isAvailable = true;
    };
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await this.#options.prepare(allowCommands).catch((error: unknown) => this.#isAvailable && this.#open(error));
      if (this.#isAvailable) break;
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    this.#recovery = undefined;
    if (this.#isReported && this.#isAvailable) this.#options.onAvailable();
    this.#isReported = false;
  }
}
