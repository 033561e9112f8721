/**
 * The connections to PostgreSQL: each is borrowed for one piece of work, and kept for the next unless it is broken.
 *
 * Nothing waits for long, neither for a connection nor for an answer, and only so many wait at all. The server gives up
 * on its side too, so that work that nobody waits for any more holds no lock there.
 */
import { Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg';
import { StoreClosed, StoreUnavailable } from './errors.ts';
import { isAway, toStoreError, unavailable } from './postgres-errors.ts';

/** Connections of one process. */
const MAX_CONNECTIONS = 10;
/** How long a call waits for a connection, then for each answer: less than the 15 s of the edge. */
const CONNECT_MS = 5_000;
const ANSWER_MS = 5_000;
/** How many calls may wait for a connection; those beyond are refused at once. */
const MAX_WAITING = 2_000;
/** The server gives up a little before the client does, so that its answer arrives. */
const SERVER_GIVES_UP = {
  statement_timeout: ANSWER_MS - 500,
  lock_timeout: ANSWER_MS - 1_000,
  idle_in_transaction_session_timeout: ANSWER_MS,
};

/** A connection that still answers so long after another broke has a server that lives. */
const SURE_MS = 1_000;

/** Told when the database goes away and when it is back: once each time, not per call. */
export interface Availability {
  readonly onAway?: (cause: Error) => void;
  readonly onBack?: () => void;
}

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

export class PostgresPool {
  readonly #pool: Pool;
  readonly #availability: Availability;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #openedMs = new WeakMap<PoolClient, number>();
  #isAway = false;
  /** When `#isAway` last changed. */
  #changedMs = 0;
  #isClosed = false;

  constructor(url: string, availability: Availability) {
    this.#availability = availability;
    this.#pool = new Pool({
      connectionString: url,
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
      ...SERVER_GIVES_UP,
      application_name: 'petstore',
      keepAlive: true,
      pipeline: true, // what is sent without waiting goes out together
    });
    // Whoever uses a connection that breaks is told by the query; an idle one is taken out of the pool.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => {
      client.on('error', () => undefined);
      this.#openedMs.set(client, performance.now());
    });
  }

  /**
   * Lends a connection to `work`.
   *
   * @throws StoreUnavailable when there is none to be had in time.
   * @throws StoreClosed after `close`.
   */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new StoreClosed());
    const using = this.#use(work);
    this.#underWay.add(using);
    const done = () => this.#underWay.delete(using);
    using.then(done, done);
    return using;
  }

  /** Takes no new work, and closes the connections when what is under way is done. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#underWay);
    await this.#pool.end();
  }

  async #use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const startMs = performance.now();
    const client = await this.#connect(startMs);
    const connection = new Connection(client);
    try {
      return await work(connection);
    } finally {
      if (connection.failure !== undefined) this.#noteFailure(connection.failure, startMs);
      else this.#noteSuccess(client, startMs);
      client.release(connection.isBroken);
    }
  }

  async #connect(startMs: number): Promise<PoolClient> {
    if (this.#pool.waitingCount >= MAX_WAITING) throw new StoreUnavailable('too many calls wait for a connection');
    try {
      return await this.#pool.connect();
    } catch (error) {
      const refused = unavailable(error);
      this.#noteFailure(refused, startMs);
      throw refused;
    }
  }

  /** What began before the database was back says nothing new. */
  #noteFailure(failure: Error, startMs: number): void {
    if (this.#isAway || startMs < this.#changedMs) return;
    this.#isAway = true;
    this.#changedMs = performance.now();
    this.#availability.onAway?.(failure);
  }

  /** A server that dies may answer on one connection when it has closed another: that does not make it back. */
  #noteSuccess(client: PoolClient, startMs: number): void {
    const isNew = (this.#openedMs.get(client) ?? 0) > this.#changedMs;
    if (!this.#isAway || !(isNew || startMs > this.#changedMs + SURE_MS)) return;
    this.#isAway = false;
    this.#changedMs = performance.now();
    this.#availability.onBack?.();
  }
}
