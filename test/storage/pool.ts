/** A pool of one connection to PostgreSQL through a proxy, and what it says of the database. */
import { Availability } from '../../src/platform/storage/availability.ts';
import { PostgresPool } from '../../src/platform/storage/postgres-pool.ts';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import type { Scope } from '../support/scope.ts';

export async function openPool(t: Scope, database: string) {
  const logged: string[] = [];
  const log = (_: object, text: string) => logged.push(text);
  const availability = new Availability({ info: log, warn: log }, 'away');
  const proxy = await openProxy(t, Number(new URL(database).port));
  const url = Object.assign(new URL(database), { port: String(proxy.port) }).href;
  const pool = new PostgresPool({ url, size: 1, isPooled: false }, availability);
  t.teardown(() => pool.close());
  return {
    logged,
    proxy,
    pool,
    query: (sql: string) => pool.use((connection) => connection.query(sql)),
  };
}
