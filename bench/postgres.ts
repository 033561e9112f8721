/** What only PostgreSQL needs for figures that are right. */
import { Client } from 'pg';

/** Whether a commit is on the disk when it is answered. */
export async function isDurable(url: string): Promise<boolean> {
  const ask = "SELECT current_setting('fsync') <> 'off' AND current_setting('synchronous_commit') <> 'off' AS yes";
  const [row] = await query(url, ask);
  return row?.yes === true;
}

/**
 * Makes a database that was filled a moment ago like one that has been there for long: its planner knows how much there
 * is, and autovacuum finds nothing to do while others measure.
 */
export async function settle(url: string): Promise<void> {
  await query(url, 'VACUUM (ANALYZE)');
}

/** On a connection of its own, which waits as long as it takes. */
async function query(url: string, sql: string): Promise<Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
