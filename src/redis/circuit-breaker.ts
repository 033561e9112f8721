/**
 * A circuit breaker for Redis: knows whether Redis is available, and bounds how long each command takes.
 *
 * Redis is unavailable after the first command that fails for whatever reason or has no reply in time, on a cluster of
 * any node. Then no commands are sent until `probe` has succeeded, which is tried again and again. `onUnavailable` is
 * called once per outage, with the cause: an hour without Redis is one line in the log.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { RedisClient } from './client.ts';

/** How long a start waits for Redis, which may be starting as well. */
const START_MS = 1_000;
/** One slow reply is no outage: a busy machine, or a long command of another client, takes less than this. */
const TIMEOUT_MS = 1_000;
/** Between probes. */
const PAUSE_MS = 200;

export interface RedisCircuitBreakerOptions {
  readonly client: RedisClient;
  /** How long a command may take. */
  readonly timeoutMs?: number | undefined;
  /** Sends commands that tell whether Redis is available. */
  readonly probe: () => Promise<unknown>;
  readonly onUnavailable: (cause: string) => void;
  readonly onAvailable: () => void;
}

export class RedisCircuitBreaker {
  readonly #options: RedisCircuitBreakerOptions;
  readonly #closing = new AbortController();
  #isAvailable = false;
  /** `onUnavailable` was called for the current outage. */
  #isReported = false;
  #recovery: Promise<void> | undefined;
  /** Why the last probe failed. */
  #failure: unknown;

  constructor(options: RedisCircuitBreakerOptions) {
    this.#options = options;
    options.client.onError = (error) => this.#open(error);
  }

  /** Whether commands are sent. */
  get isAvailable(): boolean {
    return this.#isAvailable;
  }

  /** Resolves when Redis is available, or after a second without it. */
  async start(): Promise<void> {
    this.#recovery = this.#recover();
    await Promise.race([this.#recovery, delay(START_MS, undefined, { ref: false })]);
    if (!this.#isAvailable) this.#report(this.#failure);
  }

  /** Sends a command. Resolves with the reply; with undefined if Redis is or becomes unavailable before it. */
  async run<T>(command: () => Promise<T>): Promise<T | undefined> {
    if (!this.#isAvailable) return undefined;
    try {
      const reply = await this.#inTime(command());
      return this.#isAvailable ? reply : undefined;
    } catch (error) {
      this.#open(error);
      return undefined;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#isAvailable = false;
    this.#options.client.close();
    await this.#recovery;
  }

  /** Rejects when there is no reply in time. A process that was itself busy first reads what has arrived. */
  async #inTime<T>(reply: Promise<T>): Promise<T> {
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => setImmediate(reject, new Error(`no reply in ${timeoutMs} ms`)), timeoutMs);
    try {
      return await Promise.race([reply, promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #open(error: unknown): void {
    if (!this.#isAvailable) return;
    this.#isAvailable = false;
    this.#report(error);
    this.#recovery = this.#recover();
  }

  #report(error: unknown): void {
    this.#isReported = true;
    this.#options.onUnavailable(this.#options.client.describe(error));
  }

  async #recover(): Promise<void> {
    const { signal } = this.#closing;
    while (!this.#isAvailable && !signal.aborted) {
      try {
        await this.#inTime(this.#options.probe());
        this.#isAvailable = !signal.aborted;
      } catch (error) {
        this.#failure = error;
        await delay(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
    if (this.#isAvailable && this.#isReported) this.#options.onAvailable();
    this.#isReported = false;
  }
}
