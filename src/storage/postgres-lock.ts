/**
 * What only one process at a time may do with a database. The lock is a transaction's, so that it works through a pooler
 * too, and is gone whenever the transaction is, in a crash as well.
 */
import { Client, DatabaseError } from 'pg';
import { isTimeout, toStoreError, unavailable } from './postgres-errors.ts';
import { StoreUnavailable } from './store-errors.ts';

/** The advisory lock: any number that nobody else in the database uses. */
const ALONE = 7_073_746_573;
/** How long it is waited for, and after how long that is said. */
const MAX_WAIT_MS = 60_000;
const SAID_AFTER_MS = 1_000;
const CONNECT_MS = 10_000;

export interface LockOptions {
  /** Told when another process is waited for, with the seconds that it will be at the most. */
  readonly onWait?: (maxSeconds: number) => void;
  readonly maxWaitMs?: number;
}

/**
 * Takes the lock in a transaction that has begun, until it ends; `run` runs SQL in it.
 *
 * @throws StoreUnavailable when another process has it for too long.
 */
export async function takeLock(
  run: (sql: string) => PromiseLike<unknown>,
  { onWait, maxWaitMs = MAX_WAIT_MS }: LockOptions = {},
): Promise<void> {
  const timer = setTimeout(() => onWait?.(maxWaitMs / 1_000), SAID_AFTER_MS);
  try {
    for (const limit of ['statement_timeout', 'idle_in_transaction_session_timeout'])
      await run(`SET LOCAL ${limit} = 0`);
    await run(`SET LOCAL lock_timeout = ${maxWaitMs}`);
    await run(`SELECT pg_advisory_xact_lock(${ALONE})`);
  } catch (error) {
    if (!isTimeout(error)) throw error;
    const wait = `another process has been changing the database for ${maxWaitMs / 1_000} s`;
    throw new StoreUnavailable(`${wait}: wait until it is done, or end it, and start again`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Runs `work` while no other process has the lock, on a connection of its own. */
export async function withAdvisoryLock<T>(url: string, work: () => Promise<T>, options?: LockOptions): Promise<T> {
  return withClient(url, async (client) => {
    await client.query('BEGIN');
    await takeLock((sql) => client.query(sql), options);
    const result = await work();
    await client.query('COMMIT');
    return result;
  });
}

/** Whether the session is ours alone: what a pooler shows us as one is another behind it. */
export function hasOwnSessions(url: string): Promise<boolean> {
  return withClient(url, async (client) => {
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    return rows[0]?.pid === (client as Client & { readonly processID: number }).processID;
  });
}

/** @throws StoreUnavailable when no connection is to be had. */
async function withClient<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, keepAlive: true, connectionTimeoutMillis: CONNECT_MS });
  client.on('error', () => undefined); // the query that comes next says so
  try {
    await client.connect();
  } catch (error) {
    throw unavailable(error);
  }
  try {
    return await use(client);
  } catch (error) {
    throw error instanceof DatabaseError ? toStoreError(error) : error;
  } finally {
    await client.end();
  }
}
