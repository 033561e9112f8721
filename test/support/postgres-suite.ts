/** Empty PostgreSQL databases for the storage suite, a few at a time. */
import { openPostgres } from '../../src/storage/postgres.ts';
import type { SuiteDatabase } from '../storage/suite/database.ts';
import { query, type TestPostgres } from './postgres.ts';

/** Tests at a time: what a call may wait for a connection is bounded, and many together keep a small machine busy. */
const AT_A_TIME = 4;

let running = 0;
const waiting: (() => void)[] = [];

/** Makes a database when few enough others are in use. `urlOf` is where the tests find it, if not where it is. */
export async function suiteDatabase(server: TestPostgres, urlOf = (url: string) => url): Promise<SuiteDatabase> {
  if (running === AT_A_TIME) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  const url = await server.createDatabase();
  return {
    open: (options) => openPostgres(urlOf(url), options),
    lockCategories: 'LOCK TABLE categories IN EXCLUSIVE MODE',
    takeAway: () => takeAway(url),
    async remove() {
      await server.dropDatabase(url);
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    },
  };
}

/** Lets nobody in any more, and puts out those that are. */
async function takeAway(url: string): Promise<() => Promise<void>> {
  const name = new URL(url).pathname.slice(1);
  const admin = new URL(url);
  admin.pathname = '/postgres';
  const allow = (isAllowed: boolean) => query(admin.href, `ALTER DATABASE ${name} ALLOW_CONNECTIONS ${isAllowed}`);
  await allow(false);
  await query(admin.href, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
  return async () => void (await allow(true));
}
