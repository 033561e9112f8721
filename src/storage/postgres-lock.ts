/**
 * An advisory lock for work that only one process at a time may do with a database. The lock belongs to a transaction,
 * so it works through a pooler, and PostgreSQL releases it when the transaction ends or the process crashes.
 */
import { isTimeout } from './postgres-errors.ts';
import { StoreUnavailable } from './store-errors.ts';

/** The number of the advisory lock. It must be unique in the database. */
const LOCK_ID = 7_073_746_573;
/** How long to wait for the lock, and when to report the wait. */
const MAX_WAIT_MS = 60_000;
const REPORT_MS = 1_000;

export interface LockOptions {
  /** Called when the wait for another process gets long, with the maximum wait in seconds. */
  readonly onWait?: (maxSeconds: number) => void;
  readonly maxWaitMs?: number;
}

/**
 * Takes the lock until the open transaction ends. `run` runs SQL in that transaction.
 *
 * @throws StoreUnavailable when another process holds the lock for too long.
 */
export async function takeLock(
  run: (sql: string) => PromiseLike<unknown>,
  { onWait, maxWaitMs = MAX_WAIT_MS }: LockOptions = {},
): Promise<void> {
  const timer = setTimeout(() => onWait?.(maxWaitMs / 1_000), REPORT_MS);
  try {
    for (const limit of ['statement_timeout', 'idle_in_transaction_session_timeout'])
      await run(`SET LOCAL ${limit} = 0`);
    await run(`SET LOCAL lock_timeout = ${maxWaitMs}`);
    await run(`SELECT pg_advisory_xact_lock(${LOCK_ID})`);
  } catch (error) {
    if (!isTimeout(error)) throw error;
    const wait = `another process has been changing the database for ${maxWaitMs / 1_000} s`;
    throw new StoreUnavailable(`${wait}: wait until it is done, or end it, and start again`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
