/** Empty PostgreSQL databases for the storage suite, a few at a time. */
import { MIGRATIONS } from '../../src/schema.ts';
import { openPostgres } from '../../src/storage/postgres.ts';
import type { SuiteDatabase } from '../storage/suite/database.ts';
import type { PgBouncer } from './pgbouncer.ts';
import { query, type TestPostgres } from './postgres.ts';

/** The number of concurrent tests. More would overload a small machine, and calls would time out. */
const AT_A_TIME = 4;

let running = 0;
const waiting: (() => void)[] = [];

/** Creates a database, after a wait while too many are in use. The tests reach it through the bouncer, if any. */
export async function suiteDatabase(server: TestPostgres, bouncer?: PgBouncer): Promise<SuiteDatabase> {
  if (running === AT_A_TIME) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  const url = await server.createDatabase();
  return {
    open: (options) =>
      openPostgres(bouncer?.through(url) ?? url, MIGRATIONS, { ...options, isPooled: bouncer !== undefined }),
    lockCategories: 'LOCK TABLE categories IN EXCLUSIVE MODE',
    failWrites: () => failWrites(url),
    async remove() {
      await server.dropDatabase(url);
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    },
  };
}

/** Refuses new connections and ends the open ones. */
async function failWrites(url: string): Promise<() => Promise<void>> {
  const name = new URL(url).pathname.slice(1);
  const admin = new URL(url);
  admin.pathname = '/postgres';
  const allow = (isAllowed: boolean) => query(admin.href, `ALTER DATABASE ${name} ALLOW_CONNECTIONS ${isAllowed}`);
  await allow(false);
  await query(admin.href, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
  return async () => void (await allow(true));
}
