/**
 * A pool of connections to PostgreSQL. Each piece of work borrows one, which is closed if it is not idle afterwards.
 *
 * The number of waiting calls, the wait for a connection and the wait for a response are bounded. The server has
 * shorter timeouts, so that work whose caller has given up holds no lock there.
 *
 * Sessions of another history of the database than that of the newest one are closed: the address leads elsewhere now.
 *
 * A commit that waits for a standby outlives its connection. So a session that was left without a response keeps its
 * place in the pool until its process on the server has ended: that is looked up on a connection apart. Otherwise each
 * further call would begin one more. While that gets an answer, the database is not away.
 *
 * When the server refuses a connection as one too many, the open ones serve all calls, and the pool grows later.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { NAME } from '../../identity.ts';
import type { Availability } from './availability.ts';
import type { PoolUse } from './engine.ts';
import { atWork, PostgresClient } from './postgres-client.ts';
import { Connection, startSession } from './postgres-connection.ts';
import { is, isAway, unavailable } from './postgres-errors.ts';
import { StoreUnavailable } from './store-errors.ts';

/** How long a start waits for a connection, and a call for a free one or a new one. */
export const CONNECT_MS = 10_000;
/** How many calls may wait for a connection. Further calls are refused at once. */
export const MAX_WAITING = 2_000;
/** What pg says when no connection has become free: the database is busy. */
const WAITED = 'timeout exceeded when trying to connect';
/** How long a call waits for a response. The server's timeouts are shorter, so that its error arrives first. */
const RESPONSE_MS = 7_500;
/** What pg says when none has come, and closes the connection: the server may still be at work. */
const LATE = 'Query read timeout';

/** When a call retries after the server refused a connection, and when the pool grows to its full size again. */
const RETRY_MS = 100;
const GROW_MS = 2_000;
/** How often the processes of sessions that were left are looked up. */
const LOOK_UP_MS = 250;

type PooledClient = PoolClient & PostgresClient & { history?: string };

export class PostgresPool implements PoolUse {
  readonly #pool: Pool;
  readonly size: number;
  readonly #url: string;
  readonly #isPooled: boolean;
  readonly #availability: Availability;
  #growing: NodeJS.Timeout | undefined;
  /** Those that were left, and keep their places. */
  readonly #left = new Set<PooledClient>();

  /** `size`: the maximum number of connections. `isPooled`: PgBouncer is in between, and nothing is set for one. */
  constructor(url: string, size: number, isPooled: boolean, availability: Availability) {
    [this.#url, this.size, this.#isPooled, this.#availability] = [url, size, isPooled, availability];
    const begin = async (client: PooledClient) => {
      const { history } = availability;
      client.history = await startSession(client);
      if (availability.history === history) availability.history = client.history; // not behind one that began later
    };
    this.#pool = new Pool({
      Client: PostgresClient,
      connectionString: url,
      max: size,
      min: 1,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: RESPONSE_MS,
      application_name: NAME,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      pipeline: true, // sends queries without waiting for earlier responses
      ...(isPooled ? {} : { onConnect: (client) => begin(client as PooledClient) }),
      // The pool learns of a refusal here before it lets the next call that waits ask too.
      log: (_text: string, error?: unknown) => is('outOfConnections', error) && this.#shrink(),
    });
    // A query reports a connection that breaks during it, and the pool removes an idle one: nothing is left to do.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  get inUse(): number {
    return this.#pool.totalCount - this.#pool.idleCount;
  }

  get waiting(): number {
    return this.#pool.waitingCount;
  }

  /** Runs `work` with a connection. @throws StoreUnavailable when none is available in time. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    const beganMs = performance.now();
    const connection = new Connection(client, this.#isPooled);
    try {
      return await work(connection);
    } finally {
      if (!connection.isIdle) await connection.reset();
      const { failure, hasResponse } = connection;
      if (failure?.message === LATE) {
        if (this.#left.add(client).size === 1) void this.#freePlaces();
      } else {
        if (failure !== undefined) this.#availability.noteFailure(failure, beganMs);
        else if (hasResponse) this.#availability.noteResponse(beganMs);
        client.release(!connection.isIdle || client.history !== this.#availability.history);
      }
    }
  }

  close(): Promise<void> {
    for (const client of this.#left) client.release(true);
    this.#left.clear();
    return this.#pool.end();
  }

  /** Frees the place of each session that was left, when its process has ended. */
  async #freePlaces(): Promise<void> {
    while (this.#left.size > 0) {
      await delay(LOOK_UP_MS, undefined, { ref: false });
      const [left, beganMs] = [[...this.#left], performance.now()];
      const processes = left.map(({ processID }) => processID);
      // It may take as long as a connection of a call may: otherwise a slow database would never free a place.
      const running = await atWork(this.#url, processes, CONNECT_MS).catch((error: unknown) => {
        if (isAway(error)) this.#availability.noteFailure(unavailable(error), beganMs);
      });
      for (const client of left) {
        if (running?.has(client.processID) === false && this.#left.delete(client)) client.release(true);
      }
    }
  }

  async #connect(): Promise<PooledClient> {
    if (this.waiting >= MAX_WAITING) throw new StoreUnavailable('too many calls wait for a connection');
    const beganMs = performance.now();
    for (;;) {
      try {
        const client = (await this.#pool.connect()) as PooledClient;
        if (client.history === this.#availability.history) return client;
        client.release(true);
      } catch (error) {
        const [failure, isRefused] = [unavailable(error), is('outOfConnections', error)];
        if (!isRefused && failure.message !== WAITED) this.#availability.noteFailure(failure, beganMs);
        if (!isRefused || performance.now() > beganMs + CONNECT_MS) throw failure;
        await delay(RETRY_MS); // an open connection may be free by then
        this.#pool.options.max ||= 1; // without one this call asks again
      }
    }
  }

  /** Limits the pool to its open connections for a while. The one that was refused still counts as one. */
  #shrink(): void {
    this.#pool.options.max = this.#pool.totalCount - 1;
    clearTimeout(this.#growing);
    this.#growing = setTimeout(() => (this.#pool.options.max = this.size), GROW_MS).unref();
  }
}
