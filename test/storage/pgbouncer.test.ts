/** The storage suite through PgBouncer in transaction mode, whose server sessions must keep no state of a client. */
import { MIGRATIONS, TABLES } from '../../src/schema.ts';
import { openPostgres } from '../../src/storage/postgres.ts';
import { compile } from '../../src/storage/statement.ts';
import { createStore } from '../../src/storage/store.ts';
import { StoreUnavailable } from '../../src/storage/store-errors.ts';
import { type PgBouncer, pgbouncerMissing, startPgBouncer } from '../support/pgbouncer.ts';
import { type OwnPostgres, query, startPostgres } from '../support/postgres.ts';
import { suiteDatabase } from '../support/postgres-suite.ts';
import { testUnless } from '../support/programs.ts';
import { runStorageSuite } from './suite/suite.ts';

const test = testUnless(pgbouncerMissing);
let server: OwnPostgres;
let bouncer: PgBouncer;

test.before(async () => {
  server = await startPostgres();
  bouncer = await startPgBouncer(await server.createDatabase());
});
test.after.always(async () => {
  await bouncer?.stop();
  await server?.stop();
});

const POOLED = { isPooled: true };

/** The advisory locks of this database. */
const ADVISORY = `SELECT pid FROM pg_locks JOIN pg_database ON oid = database
   WHERE locktype = 'advisory' AND datname = current_database()`;

test('PgBouncer - each transaction has its timeouts, and no session keeps a timeout, statement or lock', async (t) => {
  const url = bouncer.through(await server.createDatabase());
  const engine = await openPostgres(url, MIGRATIONS, POOLED);
  const show = compile('show', engine.knex.raw("SELECT current_setting('lock_timeout') AS lock_timeout"));
  const inTransaction = await engine.transaction((tx) => tx.all(show, {}));
  const single = [await engine.write(show, {}), await engine.reader.all(show, {})];
  for (const rows of [inTransaction, ...single]) t.deepEqual(rows, [{ lock_timeout: '4s' }]);
  for (let time = 0; time < 30; time += 1) {
    t.deepEqual(await query(url, 'SHOW lock_timeout'), [{ lock_timeout: '0' }]);
    t.deepEqual(await query(url, 'SELECT name FROM pg_prepared_statements'), []);
  }
  t.deepEqual(await query(url, ADVISORY), []);
  await engine.close();
});

test('PgBouncer - a start without the setting fails with the reason', async (t) => {
  const url = bouncer.through(await server.createDatabase());
  await t.throwsAsync(openPostgres(url, MIGRATIONS), {
    instanceOf: StoreUnavailable,
    message: /^unsupported startup parameter/,
  });
});

test('PgBouncer - in session mode a server works too, and leaves nothing in a session', async (t) => {
  const database = await server.createDatabase();
  const inSessionMode = await startPgBouncer(database, 'session');
  t.teardown(() => inSessionMode.stop());
  const url = inSessionMode.through(database);
  const open = async () => createStore(await openPostgres(url, MIGRATIONS, POOLED), TABLES);
  const stores = [await open(), await open()];
  for (const store of stores) {
    const { id } = await store.write((tx) => tx.categories.insert({ name: 'Cats', description: undefined }));
    for (const other of stores) t.is((await other.categories.find(id))?.name, 'Cats');
  }
  for (const store of stores) await store.close();
  for (const what of ['pg_prepared_statements', `(${ADVISORY}) AS locks`]) {
    t.deepEqual(await query(url, `SELECT * FROM ${what}`), []);
  }
});

test('PgBouncer - several processes that start at once on an empty database all succeed', async (t) => {
  const url = bouncer.through(await server.createDatabase());
  const engines = await Promise.all(Array.from({ length: 5 }, () => openPostgres(url, MIGRATIONS, POOLED)));
  for (const engine of engines) {
    const store = createStore(engine, TABLES);
    t.truthy(await store.write((tx) => tx.categories.insert({ name: 'Cats', description: undefined })));
    await store.close();
  }
});

if (pgbouncerMissing === undefined) runStorageSuite(() => suiteDatabase(server, bouncer));
