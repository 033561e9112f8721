/** What only PostgreSQL needs for figures that are right. */
import { query } from '../test/support/postgres.ts';

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
