/** Storage through PgBouncer in transaction mode, whose server sessions must keep no state of a client. */
import { ConfigError } from '../../src/platform/config/config.ts';
import { openPostgres } from '../../src/platform/storage/postgres.ts';
import { createStore } from '../../src/platform/tables/store.ts';
import { MIGRATIONS, TABLES } from '../../src/schema.ts';
import { run, succeeds } from '../deploy/backups.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { pgbouncerMissing, startPgBouncer } from '../support/machine/pgbouncer.ts';
import { query, startPostgres } from '../support/machine/postgres.ts';
import { sharing } from '../support/service/sharing.ts';
import { walkSessions } from '../walk/postgres-sessions.ts';
import { settingsOf, suiteDatabase } from './postgres.ts';
import { newCategory } from './suite/database.ts';
import { runStorageSuite } from './suite/suite.ts';

const test = sharing(pgbouncerMissing, async (t) => {
  const { createDatabase, dropDatabase } = await startPostgres(t, ['fsync=off']);
  return { createDatabase, dropDatabase, ...(await startPgBouncer(t, await createDatabase())) };
});

const POOLED = { isPooled: true };

const ADVISORY = `SELECT pid FROM pg_locks JOIN pg_database ON oid = database
   WHERE locktype = 'advisory' AND datname = current_database()`;

test('PgBouncer - each transaction has its timeouts, and no session keeps a timeout, statement or lock', async (t) => {
  const { createDatabase, through } = t.context;
  const database = await createDatabase();
  const name = new URL(database).pathname.slice(1);
  await query(database, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`);
  const url = through(database);
  const engines = await Promise.all([1, 2, 3].map(() => openPostgres(url, MIGRATIONS, POOLED))); // one migrates
  for (const engine of engines) {
    const settings = { lock_timeout: '4s', transaction_isolation: 'read committed' };
    t.deepEqual(await settingsOf(engine, Object.keys(settings)), Array(3).fill(settings));
  }
  for (let time = 0; time < 30; time += 1) {
    t.deepEqual(await query(url, 'SHOW lock_timeout'), [{ lock_timeout: '0' }]);
    t.deepEqual(await query(url, 'SELECT name FROM pg_prepared_statements'), []);
  }
  t.deepEqual(await query(url, ADVISORY), []);
  for (const engine of engines) await engine.close();
});

test('PgBouncer - any step of a transaction fails, and it is stored whole or not at all', async (t) => {
  const database = await t.context.createDatabase();
  await walkSessions(t, database, t.context.through(database));
});

test('PgBouncer - in session mode a server works too, and leaves nothing in a session', async (t) => {
  const database = await t.context.createDatabase();
  const inSessionMode = await startPgBouncer(t, database, 'session');
  const url = inSessionMode.through(database);
  const open = async () => createStore(await openPostgres(url, MIGRATIONS, POOLED), TABLES);
  const stores = [await open(), await open()];
  for (const store of stores) {
    const id = await newCategory(store);
    for (const other of stores) t.is((await other.categories.find(id))?.id, id);
  }
  for (const store of stores) await store.close();
  for (const what of ['pg_prepared_statements', `(${ADVISORY}) AS locks`]) {
    t.deepEqual(await query(url, `SELECT * FROM ${what}`), []);
  }
});

test('PgBouncer - without its setting transaction mode is refused, for backup, drill and restore always', async (t) => {
  const { createDatabase, through } = t.context;
  const database = await createDatabase();
  await (await openPostgres(database, MIGRATIONS)).close();
  const url = through(database);
  const message = /^DATABASE_URL leads to PgBouncer in transaction mode: set PGBOUNCER=yes$/;
  await t.throwsAsync(openPostgres(url, MIGRATIONS), { instanceOf: ConfigError, message });
  const inSessionMode = await startPgBouncer(t, database, 'session');
  await (await openPostgres(inSessionMode.through(database), MIGRATIONS)).close();
  const folder = temporaryFolder(t);
  const backup = (address: string) => run('backup', ['--to', folder], { DATABASE_URL: address, DATA_DIR: folder });
  const dump = (await succeeds(t, backup(database))).trim();
  for (const ending of [
    backup(url),
    run('drill', ['--from', folder], { DATABASE_URL: url, DATA_DIR: folder }),
    run('restore', [dump], { DATABASE_URL: url, DATA_DIR: folder }),
  ]) {
    const { code, errors } = await ending;
    t.deepEqual([code, /PgBouncer in transaction mode: name PostgreSQL's own address/.test(errors)], [1, true], errors);
  }
  t.deepEqual(await query(url, "SELECT current_setting('search_path') AS path"), [{ path: '"$user", public' }]);
});

if (pgbouncerMissing === undefined) runStorageSuite(suiteDatabase, 'PgBouncer');
