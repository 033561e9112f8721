/** Empty PostgreSQL databases for the storage suite, a few at a time; a store, or a pool of one connection, on one. */
import { Availability } from '../../src/platform/storage/availability.ts';
import type { Engine, Runner } from '../../src/platform/storage/engine.ts';
import { openPostgres, type PostgresOptions } from '../../src/platform/storage/postgres.ts';
import { PostgresPool } from '../../src/platform/storage/postgres-pool.ts';
import { compile } from '../../src/platform/storage/statement.ts';
import { createStore } from '../../src/platform/tables/store.ts';
import { MIGRATIONS, TABLES } from '../../src/schema.ts';
import { onPort, query, type TestPostgres } from '../support/machine/postgres.ts';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import type { Scope } from '../support/scope.ts';
import { takeTurns } from '../support/until.ts';
import type { SuiteDatabase } from './suite/database.ts';

/** More concurrent tests would overload a small machine, and calls would time out. */
const turn = takeTurns(4);
/** A migrated database, of which each test gets a copy. */
let template: Promise<string> | undefined;

type Shared = Pick<TestPostgres, 'createDatabase' | 'dropDatabase'> & { readonly through?: (url: string) => string };

/** Creates a database, after a wait while too many are in use. The tests reach it through the bouncer, if any. */
export async function suiteDatabase(t: Scope, server: Shared): Promise<SuiteDatabase> {
  const { through } = server;
  template ??= server.createDatabase().then(async (url) => {
    await (await openPostgres(url, MIGRATIONS)).close();
    await query(url, 'DELETE FROM event_histories'); // a copy is a new store, not a restored one
    return new URL(url).pathname.slice(1);
  });
  t.teardown(await turn());
  const url = await server.createDatabase(await template);
  t.teardown(() => server.dropDatabase(url));
  return {
    open: (options, more = []) =>
      openPostgres(through?.(url) ?? url, [...MIGRATIONS, ...more], { ...options, isPooled: through !== undefined }),
    lockCategories: 'LOCK TABLE categories IN EXCLUSIVE MODE',
  };
}

/** These settings as each kind of work has them: a transaction, a write and a read. */
export async function settingsOf(engine: Engine, names: readonly string[]): Promise<readonly unknown[]> {
  const values = names.map((name) => `current_setting('${name}') as ${name}`);
  const show = compile('show', engine.knex.raw(`select ${values}`));
  const all = (tx: Runner) => tx.all(show, {});
  return [await engine.transaction(all), await engine.write(all), await all(engine.reader)].flat();
}

/** A store until the end of the test, and what it warns of. */
export async function openDatabase(t: Scope, url: string, options: PostgresOptions = {}) {
  const warned: string[] = [];
  const logger = { info: () => undefined, warn: (_: object, text: string) => void warned.push(text) };
  const engine = await openPostgres(url, MIGRATIONS, { logger, ...options });
  const store = createStore(engine, TABLES);
  t.teardown(() => store.close());
  return { engine, store, warned };
}

/** How many sessions of the service a server has. One that looks the others up may be among them. */
export async function countSessions(url: string): Promise<number> {
  const sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'petstore'";
  return Number((await query(url, sql))[0]?.count);
}

/** The connection is through a proxy. `logged` is what the pool says of the database. */
export async function openPool(t: Scope, database: string) {
  await (await openPostgres(database, MIGRATIONS)).close();
  const logged: string[] = [];
  const log = (_: object, text: string) => logged.push(text);
  const availability = new Availability({ info: log, warn: log }, 'away');
  const proxy = await openProxy(t, Number(new URL(database).port));
  const pool: PostgresPool = new PostgresPool(onPort(database, proxy.port), 1, false, availability);
  t.teardown(() => pool.close());
  return { availability, logged, proxy, pool, query: (sql: string) => pool.use((one) => one.query(sql)) };
}
