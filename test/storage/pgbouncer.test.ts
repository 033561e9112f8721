/** Storage through PgBouncer in transaction mode, whose server sessions must keep no state of a client. */
import { ConfigError } from '../../src/platform/config/config.ts';
import { openPostgres } from '../../src/platform/storage/postgres.ts';
import { MIGRATIONS } from '../../src/schema.ts';
import { run, succeeds } from '../deploy/backups.ts';
import { pgbouncerMissing, query, startPgBouncer, startPostgres } from '../support/machine/postgres.ts';
import { temporaryFolder } from '../support/scope.ts';
import { sharing } from '../support/service/sharing.ts';
import { openDatabase, settingsOf, suiteDatabase } from './postgres.ts';
import { runStorageSuite } from './suite/suite.ts';

const test = sharing(pgbouncerMissing, async (t) => {
  const { createDatabase, dropDatabase } = await startPostgres(t, ['fsync=off']);
  return { createDatabase, dropDatabase, ...(await startPgBouncer(t, await createDatabase())) };
});

const ADVISORY = `SELECT pid FROM pg_locks JOIN pg_database ON oid = database
   WHERE locktype = 'advisory' AND datname = current_database()`;

test('PgBouncer - each transaction has its timeouts, and no session keeps a timeout, statement or lock', async (t) => {
  const { createDatabase, through } = t.context;
  const database = await createDatabase();
  const name = new URL(database).pathname.slice(1);
  await query(database, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`);
  const url = through(database);
  const engines = await Promise.all([1, 2, 3].map(() => openDatabase(t, url, { isPooled: true }))); // one migrates
  for (const { engine } of engines) {
    const settings = { lock_timeout: '4s', transaction_isolation: 'read committed' };
    t.deepEqual(await settingsOf(engine, Object.keys(settings)), Array(3).fill(settings));
  }
  for (let time = 0; time < 30; time += 1) {
    t.deepEqual(await query(url, 'SHOW lock_timeout'), [{ lock_timeout: '0' }]);
    t.deepEqual(await query(url, 'SELECT name FROM pg_prepared_statements'), []);
  }
  t.deepEqual(await query(url, ADVISORY), []);
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
