/** Migrates a PostgreSQL database: with the rights that a server needs, and one process at a time. */
import makeKnex, { type Knex } from 'knex';
import type { Client } from 'pg';
import { ConfigError } from '../config/config.ts';
import { type MigrateOptions, migrate } from './migrate.ts';
import { atWork, sharesSessions } from './postgres-client.ts';
import { is, retryConflicts, toStartError, unavailable } from './postgres-errors.ts';
import { CONNECT_MS } from './postgres-pool.ts';
import { StoreUnavailable } from './store-errors.ts';

/** The number of the advisory lock. It must be unique in the database. */
const LOCK_ID = 7_073_746_573;
/** How long a migration waits to lock a table, and holds locks while its process stands still. Others wait for them. */
const TABLE_LOCK_MS = 10_000;

/** How often a start that takes long asks whether the database is at work for it, and how often it may not be. */
const ASK_MS = 5_000;
const MAX_MISSES = 3;

/** What a server needs, of tables of the owner of the service's. `deploy/grants.sql` grants it. */
const LACKING_RIGHTS = `
  SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
    AND relowner = (SELECT relowner FROM pg_class WHERE oid = to_regclass('schema_migrations')) AND CASE relkind
      WHEN 'r' THEN EXISTS (SELECT FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
        WHERE NOT has_table_privilege(pg_class.oid, needed))
      WHEN 'S' THEN NOT has_sequence_privilege(oid, 'USAGE') END
    ORDER BY relname`;

/**
 * Checks the server, and migrates its schema or only checks it. A statement of a migration may take any time while the
 * database is at work on it: otherwise a response is lost, and the connections end.
 *
 * @throws StoreUnavailable when another process migrates for too long, or a table is in use for too long.
 * @throws ConfigError when this release does not support the schema, or PostgreSQL refuses what a start does.
 */
export async function migratePostgres(
  url: string,
  isPooled: boolean,
  options: Omit<MigrateOptions, 'lock'>,
): Promise<void> {
  const connection = { connectionString: url, connectionTimeoutMillis: CONNECT_MS };
  const log = { warn: () => undefined }; // it also throws what it logs
  const clients = new Set<Client>();
  const afterCreate = (client: Client, done: () => void) => clients.add(client) && done();
  const knex = makeKnex({ client: 'pg', connection, pool: { min: 0, max: 1, afterCreate }, log });
  let [pid, misses] = [0, 0];
  const asking = setInterval(async () => {
    const isRefused = (error: unknown) => is('outOfConnections', error);
    misses = (await atWork(url, [pid]).then(({ size }) => size > 0, isRefused)) ? 0 : misses + 1;
    if (misses < MAX_MISSES) return;
    for (const { connection } of clients) connection.stream.destroy(new Error('no response on the connection'));
  }, ASK_MS);
  try {
    await checkServer(knex, url, isPooled);
    // Again after a deadlock: callers' transactions may take locks in another order.
    await retryConflicts(() =>
      migrate(knex, {
        ...options,
        async lock(trx, maxWaitMs) {
          const { rows } = await trx.raw<{ rows: readonly { pid: number }[] }>('SELECT pg_backend_pid() AS pid');
          pid = rows[0]?.pid ?? 0;
          await lock(trx, maxWaitMs);
        },
        transaction: { isolationLevel: 'read committed' }, // sees what others committed while it waited for the lock
      }),
    );
  } catch (error) {
    throw toStartError(error);
  } finally {
    clearInterval(asking);
    await knex.destroy();
  }
}

async function checkServer(knex: Knex, url: string, isPooled: boolean): Promise<void> {
  const asked = knex.raw<{ rows: { standby: boolean }[] }>('SELECT pg_is_in_recovery() AS standby');
  const { rows } = await asked.catch((error: unknown) => Promise.reject(unavailable(error)));
  if (rows[0]?.standby) throw new StoreUnavailable('it is a standby, which takes no writes');
  if (!isPooled && (await sharesSessions(url))) {
    throw new ConfigError('DATABASE_URL leads to PgBouncer in transaction mode: set PGBOUNCER=yes');
  }
  await knex.raw("SELECT '\u{1f408}'"); // not every encoding has every character
  // Without rights on it, even the table of migrations looks as if it were missing.
  const { rows: lacking } = await knex.raw<{ rows: readonly { relname: string }[] }>(LACKING_RIGHTS);
  if (lacking.length === 0) return;
  const names = lacking.map(({ relname }) => relname).join(', ');
  const wayOut = 'the owner of the tables must run deploy/grants.sql';
  throw new ConfigError(`the user of DATABASE_URL lacks rights on ${names}: ${wayOut}`);
}

/** Takes an advisory lock of the transaction: it works through a pooler, and ends when the process crashes. */
async function lock(trx: Knex.Transaction, maxWaitMs: number): Promise<void> {
  try {
    await trx.raw(`SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = ${TABLE_LOCK_MS}`);
    await trx.raw(`SET LOCAL lock_timeout = ${maxWaitMs}; SELECT pg_advisory_xact_lock(${LOCK_ID})`);
    await trx.raw(`SET LOCAL lock_timeout = ${TABLE_LOCK_MS}`);
  } catch (error) {
    if (!is('timeout', error)) throw error;
    const wait = `another process has been changing the database for ${maxWaitMs / 1_000} s`;
    throw new StoreUnavailable(`${wait}: wait until it is done, or end it, and start again`, { cause: error });
  }
}
