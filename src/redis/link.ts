/**
 * Says whether Redis is there, and asks it with bounded patience.
 *
 * Redis is away from the first command that fails, for whatever reason, or that waits while nothing at all is heard for
 * a second: all that wait are told at once, and nobody asks until `prepare` has succeeded, which is tried again and
 * again. `onAway` is told once, with the cause, until `onBack` was: an hour without Redis is one line in the log.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { RedisClient } from './client.ts';

/** How long a start waits for Redis, which may be starting as well. */
const START_MS = 1_000;
/** One slow answer is not an absence: a busy machine or a long command of somebody else's takes less. */
const PATIENCE_MS = 1_000;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [50, 500];

export interface RedisLinkOptions {
  readonly client: RedisClient;
  readonly patienceMs?: number | undefined;
  /** Makes Redis ready; calls `takeUp` when commands may come. */
  readonly prepare: (takeUp: () => void) => Promise<unknown>;
  readonly onAway: (cause: string) => void;
  readonly onBack: () => void;
}

export class RedisLink {
  readonly #options: RedisLinkOptions;
  /** Who waits for an answer, since when. */
  readonly #waiting = new Map<() => void, number>();
  readonly #closing = new AbortController();
  #heardMs = 0;
  #isUp = false;
  #isAwayTold = false;
  #returning: Promise<void> | undefined;

  constructor(options: RedisLinkOptions) {
    this.#options = options;
    const { patienceMs = PATIENCE_MS } = options;
    // This process may have been busy itself: what has arrived meanwhile is read before the second look.
    const isSilent = () => performance.now() - Math.max(this.#heardMs, ...this.#waiting.values().take(1)) >= patienceMs;
    const look = () => this.#waiting.size > 0 && isSilent();
    const watch = setInterval(() => look() && setImmediate(() => look() && this.#away()), patienceMs / 5).unref();
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
      this.#waiting.set(giveUp, performance.now());
      const onAnswer = (answer: T) => {
        this.#heardMs = performance.now();
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
    for (const giveUp of this.#waiting.keys()) giveUp();
    this.#waiting.clear();
    if (this.#closing.signal.aborted) return;
    if (!this.#isAwayTold) this.#options.onAway(this.#options.client.describe(error));
    this.#isAwayTold = true;
    this.#returning ??= this.#return();
  }

  async #return(): Promise<void> {
    const { signal } = this.#closing;
    const takeUp = () => {
      this.#isUp = true;
    };
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await this.#options.prepare(takeUp).catch((error: unknown) => this.#isUp && this.#away(error));
      if (this.#isUp) break;
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    this.#returning = undefined;
    if (this.#isAwayTold && this.#isUp) this.#options.onBack();
    this.#isAwayTold = false;
  }
}
