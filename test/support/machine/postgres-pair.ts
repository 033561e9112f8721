/** Two PostgreSQL servers of which one copies the other, and an address that the test moves from one to the other. */
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { onPort, query, startPostgres, type TestPostgres } from './postgres.ts';
import { openProxy } from './tcp-proxy.ts';

const SETTINGS = ['fsync=off'];

export const portOf = ({ url }: TestPostgres) => Number(new URL(url).port);

export async function startPair(t: Scope) {
  const first = await startPostgres(t, SETTINGS);
  await query(first.url, "ALTER SYSTEM SET wal_keep_size = '512MB'"); // pg_rewind reads back to the last checkpoint
  await query(first.url, 'CREATE ROLE haproxy LOGIN');
  const second = await startPostgres(t, SETTINGS, first.url);
  const address = await openProxy(t, portOf(first));
  const pair = {
    primary: first,
    standby: second,
    address,
    url: onPort(first.url, address.port),
    /** The address leads there from now on, and its connections end, or stay where they are. */
    lead(to: TestPostgres, cuts = true) {
      address.targetPort = portOf(to);
      if (cuts) address.cut();
    },
    /** Waits until the standby has all that the primary has. */
    async copied() {
      const [row] = await query(pair.primary.url, 'SELECT pg_current_wal_lsn() AS lsn');
      const sql = `SELECT pg_last_wal_replay_lsn() >= '${row?.lsn}' AS done`;
      await until(async () => (await query(pair.standby.url, sql))[0]?.done, 'the copy');
    },
    /** The standby is the primary from now on, and the address leads there. */
    async promote(cuts = true) {
      const { primary, standby } = pair;
      await standby.promote();
      const sql = 'SELECT pg_is_in_recovery() AS standby';
      await until(async () => (await query(standby.url, sql))[0]?.standby === false, 'the promotion');
      await query(standby.url, 'CHECKPOINT'); // pg_rewind looks for the new timeline there
      Object.assign(pair, { primary: standby, standby: primary });
      pair.lead(standby, cuts);
    },
    /** The former primary, which has ended, copies the new one. */
    rejoin: () => pair.standby.follow(pair.primary.url),
    /** Whether commits of a server wait for a standby. */
    async synchronous(server: TestPostgres, isOn = true) {
      await query(server.url, `ALTER SYSTEM SET synchronous_standby_names = '${isOn ? '*' : ''}'`);
      await query(server.url, 'SELECT pg_reload_conf()');
    },
  };
  return pair;
}
