/**
 * Keeps a connection to Redis, and says when there is none.
 *
 * Algorithm: connect, prepare, use, and when the connection is lost the same again, after a pause that grows from 50 ms
 * to half a second, until a connection has lasted. `prepare` is the owner's: what has to be done before anybody else uses the new connection. Until it says
 * so, and from the moment of the loss, the link is away: nobody waits for Redis then.
 *
 * Failure: whatever goes wrong, a refused command of a server that is loading, full or read-only among them, is one and
 * the same: away. `onAway` is told once, with the cause, until `onBack` was; an hour without Redis is one line in the log.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { RedisConfig } from '../config.ts';
import { RedisConnection } from './connection.ts';

/** How long a start waits for Redis, which may be starting as well. */
const START_MS = 1_000;
/** How long a command may take. A server that is well needs less than a thousandth of it. */
const PATIENCE_MS = 250;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [50, 500];
/** A connection that is lost sooner is no reason to hurry to the next one. */
const LASTING_MS = 5_000;

export interface RedisLinkOptions {
  readonly redis: RedisConfig;
  /** How long a command may take before Redis counts as away. */
  readonly patienceMs?: number | undefined;
  /** Makes a new connection ready, and calls `takeUp` at the moment from which it is to be used. */
  readonly prepare: (connection: RedisConnection, takeUp: () => void) => Promise<void>;
  readonly onAway?: (cause: Error) => void;
  readonly onBack?: () => void;
}

export class RedisLink {
  readonly #options: RedisLinkOptions;
  readonly #closing = new AbortController();
  readonly #firstUp = Promise.withResolvers<void>();
  #latest: RedisConnection | undefined;
  #current: RedisConnection | undefined;
  #keeping: Promise<void> = Promise.resolve();
  #isAwayKnown = false;

  constructor(options: RedisLinkOptions) {
    this.#options = options;
  }

  /** The connection to use, or undefined while Redis is away. */
  get connection(): RedisConnection | undefined {
    return this.#current;
  }

  /**
   * Starts to keep a connection. Resolves when there is one, and after a second without. Rejects only when no connection
   * can be made of the address.
   */
  async start(): Promise<void> {
    this.#keeping = this.#keep();
    const waited = new AbortController();
    const { signal } = waited;
    const patience = delay(START_MS, undefined, { signal }).then(
      () => this.#away(new Error('it does not answer')),
      () => undefined,
    );
    await Promise.race([this.#firstUp.promise, patience, this.#keeping]).finally(() => waited.abort());
  }

  /** Closes the connection, and keeps none any longer. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#latest?.lose(new Error('closed'));
    await this.#keeping;
  }

  async #keep(): Promise<void> {
    const { signal } = this.#closing;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const usedMs = await this.#connectOnce();
      if (usedMs >= LASTING_MS) pauseMs = FIRST_PAUSE_MS;
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }

  /** A connection's life. Resolves at its end, with how long it was used. */
  async #connectOnce(): Promise<number> {
    const { redis, patienceMs = PATIENCE_MS, prepare } = this.#options;
    const lost = Promise.withResolvers<Error>();
    const connection = new RedisConnection(redis, patienceMs, (cause) => {
      if (this.#current === connection) this.#current = undefined;
      this.#away(cause);
      lost.resolve(cause);
    });
    this.#latest = connection;
    let upMs = Number.POSITIVE_INFINITY;
    try {
      await connection.connect();
      await prepare(connection, () => {
        upMs = performance.now();
        this.#up(connection);
      });
    } catch (error) {
      connection.lose(error);
    }
    await lost.promise;
    return performance.now() - upMs;
  }

  #up(connection: RedisConnection): void {
    this.#current = connection;
    this.#firstUp.resolve();
    if (this.#isAwayKnown) this.#options.onBack?.();
    this.#isAwayKnown = false;
  }

  #away(cause: Error): void {
    if (this.#isAwayKnown || this.#closing.signal.aborted) return;
    this.#isAwayKnown = true;
    this.#options.onAway?.(cause);
  }
}
