/**
 * Some connections to PostgreSQL: each is borrowed for one piece of work, and kept for the next unless it is broken.
 *
 * Nothing waits for long, neither for a connection nor for an answer, and only so many wait at all. The server gives up
 * on its side too, so that work that nobody waits for any more holds no lock there.
 *
 * A server that has no connection left for us is made do with: what has been opened serves all, in turn, and it is
 * asked for more a little later.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg';
import type { Availability } from './availability.ts';
import { isAway, isOutOfConnections, toStoreError, unavailable } from './postgres-errors.ts';
import { Turns } from './turns.ts';

/** How long a call waits for a connection to be free, and for one to be made. */
const FREE_MS = 10_000;
const CONNECT_MS = 5_000;
/** How many calls may wait for a connection; those beyond are refused at once. */
const MAX_WAITING = 2_000;
/** The server gives up so early that its answer arrives, over a slow network too, before we do. */
const ANSWER_MS = 7_500;
export const SERVER_GIVES_UP = {
  lock_timeout: 4_000,
  statement_timeout: 5_000,
  idle_in_transaction_session_timeout: 5_000,
};

/** When to ask a server again that had no connection left: the call that asked, and then the pool. */
const ASK_AGAIN_MS = 100;
const GROW_AGAIN_MS = 2_000;

/** A borrowed connection. */
export class Connection {
  readonly #client: PoolClient;
  #failure: Error | undefined;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  /** Why it can't be used any more. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get isBroken(): boolean {
    return this.#failure !== undefined;
  }

  /** @throws StoreUnavailable when it breaks, or when no answer comes in time. */
  async query(query: string | QueryConfig): Promise<QueryResult> {
    try {
      return await this.#client.query(query);
    } catch (error) {
      if (isAway(error)) this.#failure = unavailable(error);
      throw toStoreError(error);
    }
  }
}

export interface PoolOptions {
  readonly url: string;
  /** Connections at the most. */
  readonly size: number;
  /** Whether the session is ours alone, so that it can be told when to give up. A pooler's is not. */
  readonly hasOwnSessions: boolean;
}

/** How busy a pool is at the moment. */
export interface PoolReading {
  /** Connections that there may be. */
  readonly size: number;
  readonly inUse: number;
  /** Calls that wait for one. */
  readonly waiting: number;
}

export class PostgresPool implements PoolReading {
  readonly #pool: Pool;
  readonly #turns: Turns;
  readonly size: number;
  readonly #availability: Availability;
  readonly #openedMs = new WeakMap<PoolClient, number>();

  constructor({ url, size, hasOwnSessions }: PoolOptions, availability: Availability) {
    this.#availability = availability;
    this.size = size;
    this.#turns = new Turns({ what: 'a connection', atATime: size, maxWaiting: MAX_WAITING, maxWaitMs: FREE_MS });
    this.#pool = new Pool({
      connectionString: url,
      max: size,
      min: 1,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
      ...(hasOwnSessions ? SERVER_GIVES_UP : {}),
      application_name: 'petstore',
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      pipeline: true, // what is sent without waiting goes out together
    });
    // Whoever uses a connection that breaks is told by the query; an idle one is taken out of the pool.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => {
      client.on('error', () => undefined);
      this.#openedMs.set(client, performance.now());
    });
  }

  get inUse(): number {
    return this.#turns.inside;
  }

  get waiting(): number {
    return this.#turns.waiting;
  }

  /**
   * Lends a connection to `work`.
   *
   * @throws StoreUnavailable when there is none to be had in time.
   */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#turns.use(() => this.#use(work));
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  async #use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const beganMs = performance.now();
    const client = await this.#connect(beganMs);
    const connection = new Connection(client);
    try {
      return await work(connection);
    } finally {
      if (connection.failure !== undefined) this.#availability.noteFailure(connection.failure, beganMs);
      else this.#availability.noteAnswer(this.#openedMs.get(client) ?? 0, beganMs);
      client.release(connection.isBroken);
    }
  }

  async #connect(beganMs: number): Promise<PoolClient> {
    for (;;) {
      try {
        return await this.#pool.connect();
      } catch (error) {
        const refused = unavailable(error);
        if (!isOutOfConnections(error)) {
          this.#availability.noteFailure(refused, beganMs);
          throw refused;
        }
        this.#makeDo();
        if (performance.now() > beganMs + CONNECT_MS) throw refused;
        await delay(ASK_AGAIN_MS); // one of ours may be free by then
      }
    }
  }

  #makeDo(): void {
    this.#turns.limit(this.#pool.totalCount);
    setTimeout(() => this.#turns.limit(this.size), GROW_AGAIN_MS).unref();
  }
}
