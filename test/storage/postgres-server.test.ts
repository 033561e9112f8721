/** Storage when the PostgreSQL server crashes, hangs, recovers, or serves several processes. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { hashKey } from '../../src/access/keys/format.ts';
import { demoKeyFile, ensureDemoKey } from '../../src/access/keys/key-files.ts';
import { MIGRATIONS, type Store, TABLES } from '../../src/schema.ts';
import { toCategoryId, toPetId } from '../../src/shop/model.ts';
import { Availability } from '../../src/storage/availability.ts';
import type { Runner } from '../../src/storage/engine.ts';
import { openPostgres } from '../../src/storage/postgres.ts';
import { PostgresPool } from '../../src/storage/postgres-pool.ts';
import { compile, param } from '../../src/storage/statement.ts';
import { createStore } from '../../src/storage/store.ts';
import { Cancelled, StoreUnavailable } from '../../src/storage/store-errors.ts';
import { aPet } from '../support/pets.ts';
import { type OwnPostgres, ownPostgresMissing, query, startPostgres } from '../support/postgres.ts';
import { testUnless } from '../support/programs.ts';
import { until } from '../support/until.ts';

interface Context {
  readonly server: OwnPostgres;
  readonly url: string;
}
const test = testUnless<Context>(ownPostgresMissing);

test.before(async (t) => {
  t.context = { server: await startPostgres(), url: '' };
});
test.beforeEach(async (t) => {
  const { server } = t.context;
  t.context = { server, url: await server.createDatabase() };
});
test.after.always((t) => t.context.server?.stop());

const CATS = { name: 'Cats', description: undefined };

/** Runs concurrent reads and writes until `stop`, and records their results. */
function load(store: Store) {
  const [inserted, refusals, otherErrors]: [string[], Error[], unknown[]] = [[], [], []];
  let isOver = false;
  let longestMs = 0;
  const worker = async (index: number) => {
    while (!isOver) {
      const startMs = performance.now();
      try {
        if (index % 2 === 0) await store.categories.find(toCategoryId(1n));
        else inserted.push(String((await store.write((tx) => tx.categories.insert(CATS))).id));
      } catch (error) {
        if (error instanceof StoreUnavailable) refusals.push(error);
        else otherErrors.push(error);
        await delay(5); // as callers do: an unavailable server refuses calls at once
      }
      longestMs = Math.max(longestMs, performance.now() - startMs);
    }
  };
  const workers = Promise.all(Array.from({ length: 20 }, (_, index) => worker(index)));
  return {
    inserted,
    refusals,
    otherErrors,
    get longestMs() {
      return longestMs;
    },
    async stop() {
      isOver = true;
      await workers;
    },
  };
}

test.serial('PostgreSQL killed under load - calls fail as unavailable, then succeed without a restart', async (t) => {
  const { server, url } = t.context;
  const reported: string[] = [];
  const engine = await openPostgres(url, MIGRATIONS, {
    logger: { info: (_, text) => reported.push(text), warn: (_, text) => reported.push(text) },
  });
  const store = createStore(engine, TABLES);
  const calls = load(store);
  await until(() => calls.inserted.length > 50, 'inserts');
  for (let round = 0; round < 2; round += 1) {
    await server.kill();
    const refused = calls.refusals.length;
    await until(() => calls.refusals.length > refused + 50, 'refusals');
    await server.start();
    const before = calls.inserted.length;
    await until(() => calls.inserted.length > before + 50, 'more inserts');
  }
  await calls.stop();
  t.deepEqual(calls.otherErrors, []);
  const [up, away, back] = [
    "the database's schema is up to date now",
    'the database is away: calls that need it fail',
    'the database is back',
  ];
  t.deepEqual(reported, [up, away, back, away, back]);
  // Every acknowledged write is stored.
  const rows = await query(url, 'SELECT id FROM categories');
  const stored = new Set(rows.map(({ id }) => String(id)));
  t.deepEqual(
    calls.inserted.filter((id) => !stored.has(id)),
    [],
  );
  await store.close();
});

test.serial('PostgreSQL hanging - calls end in time, excess calls fail at once, and later calls succeed', async (t) => {
  const { server, url } = t.context;
  const store = createStore(await openPostgres(url, MIGRATIONS), TABLES);
  const calls = load(store);
  await until(() => calls.inserted.length > 20, 'inserts');
  await server.pause();
  try {
    await until(() => calls.refusals.length >= 20, 'refusals');
    // More calls than the pool's queue holds: the excess is refused at once.
    const results = await Promise.all(
      Array.from({ length: 3_000 }, () =>
        store
          .write((tx) => tx.categories.insert(CATS))
          .then(
            () => 'answered',
            (error: Error) => error.message,
          ),
      ),
    );
    t.true(results.filter((message) => message === 'too many calls wait for a connection').length >= 900);
  } finally {
    await server.resume();
  }
  const before = calls.inserted.length;
  await until(() => calls.inserted.length > before + 20, 'more inserts');
  await calls.stop();
  t.deepEqual(calls.otherErrors, []);
  t.true(calls.longestMs < 15_000, `${calls.longestMs} ms`);
  await store.close();
});

test('PostgreSQL - several processes that start at once on an empty database run each migration once', async (t) => {
  const { url } = t.context;
  const engines = await Promise.all(Array.from({ length: 5 }, () => openPostgres(url, MIGRATIONS)));
  const stores = engines.map((engine) => createStore(engine, TABLES));
  for (const store of stores) t.truthy(await store.write((tx) => tx.categories.insert(CATS)));
  const read = compile('names', engines[0]?.knex.raw('select name from schema_migrations order by id') as never);
  const names = (await engines[0]?.reader.all(read, {}))?.map(({ name }) => name) ?? [];
  t.true(names.length >= 4);
  t.is(new Set(names).size, names.length, 'a migration ran twice');
  for (const store of stores) await store.close();
});

test('PostgreSQL - a start succeeds after another process was killed during its migrations', async (t) => {
  const { url } = t.context;
  // Earlier releases marked a running migration in this table.
  await query(url, 'CREATE TABLE schema_migrations_lock (index serial PRIMARY KEY, is_locked integer)');
  await query(url, 'INSERT INTO schema_migrations_lock (is_locked) VALUES (1)');
  const engine = await openPostgres(url, MIGRATIONS);
  t.truthy(await createStore(engine, TABLES).write((tx) => tx.categories.insert(CATS)));
  await engine.close();
});

test('PostgreSQL - a start reports that it waits for another migration, and continues after it', async (t) => {
  const { url } = t.context;
  const other = await holdLock(url);
  const waits: object[] = [];
  const logger = { info: (fields: object) => waits.push(fields), warn: () => undefined };
  const opening = openPostgres(url, MIGRATIONS, { logger });
  await until(() => waits.length > 0, 'the report of the wait');
  await other.end();
  await (await opening).close();
  t.deepEqual(waits[0], { maxSeconds: 60 });
  const current = await holdLock(url);
  await (await openPostgres(url, MIGRATIONS)).close(); // nothing to migrate, nothing to wait for
  await current.end();
});

test('PostgreSQL - a start that waits too long for another migration fails, with the reason', async (t) => {
  const { url } = t.context;
  const other = await holdLock(url);
  await t.throwsAsync(openPostgres(url, MIGRATIONS, { maxWaitMs: 500 }), {
    instanceOf: StoreUnavailable,
    message: /^another process has been changing the database for 0.5 s: wait until it is done, or end it/,
  });
  await other.end();
});

test('PostgreSQL - a migration waits 10 s for a table that is in use, then fails and changes nothing', async (t) => {
  const { url } = t.context;
  await (await openPostgres(url, MIGRATIONS)).close();
  await query(url, 'DROP TABLE key_uses');
  await query(url, 'ALTER TABLE bans DROP COLUMN duration_ms, DROP COLUMN refusals, DROP COLUMN window_seconds');
  await query(url, "DELETE FROM schema_migrations WHERE name = '005-key-uses'");
  const user = new Client({ connectionString: url });
  await user.connect();
  await user.query('BEGIN; LOCK TABLE bans');
  const beganMs = performance.now();
  await t.throwsAsync(openPostgres(url, MIGRATIONS), { instanceOf: StoreUnavailable });
  const waitedMs = performance.now() - beganMs;
  t.true(waitedMs > 9_500 && waitedMs < 20_000, `${waitedMs} ms`);
  const found = async () => (await query(url, "SELECT to_regclass('key_uses') AS found"))[0]?.found;
  t.is(await found(), null);
  const started = openPostgres(url, MIGRATIONS);
  await delay(1_000);
  await user.query('COMMIT');
  await user.end();
  await (await started).close();
  t.not(await found(), null);
});

test('PostgreSQL - a call that is cancelled before its query does not count as a response', async (t) => {
  const reported: string[] = [];
  const availability = new Availability(
    { info: () => reported.push('back'), warn: () => reported.push('away') },
    'away',
  );
  availability.noteFailure(new Error('no response'), performance.now());
  const pool = new PostgresPool({ url: t.context.url, size: 1, isPooled: false }, availability);
  await t.throwsAsync(
    pool.use(() => Promise.reject(new Cancelled())),
    { instanceOf: Cancelled },
  );
  t.deepEqual(reported, ['away']);
  await pool.use((connection) => connection.query('SELECT 1'));
  t.deepEqual(reported, ['away', 'back']);
  await pool.close();
});

/** Another process that holds the advisory lock. */
async function holdLock(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('SELECT pg_advisory_lock(7073746573)');
  return client;
}

test('PostgreSQL - of several servers that start at once one creates the demo account and its key', async (t) => {
  const { url } = t.context;
  const folder = await mkdtemp(join(tmpdir(), 'petstore-demo-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const stores = await Promise.all(
    Array.from({ length: 4 }, async () => createStore(await openPostgres(url, MIGRATIONS), TABLES)),
  );
  await Promise.all(stores.map((store) => ensureDemoKey(store, folder)));
  for (const store of stores) {
    t.is((await store.accounts.page({ after: 0n, limit: 10 })).rows.length, 1);
    const key = (await readFile(demoKeyFile(folder), 'utf8')).trim();
    t.is((await store.accounts.findKey(hashKey(key)))?.account.name, 'Demo');
    await store.close();
  }
});

test('PostgreSQL - each connection prepares a statement once, by its name', async (t) => {
  const engine = await openPostgres(t.context.url, MIGRATIONS);
  const store = createStore(engine, TABLES);
  const { id } = await store.write((tx) => tx.categories.insert(CATS));
  const prepared = compile(
    'prepared',
    engine.knex.raw(
      'select name, calls from (select name, generic_plans + custom_plans as calls from pg_prepared_statements) as p',
    ),
  );
  const find = compile('test.find', engine.knex('categories').select('id').where('id', param('id')));
  const rows = await engine.transaction(async (tx: Runner) => {
    for (let time = 0; time < 8; time += 1) await tx.all(find, { id });
    return tx.all(prepared, {});
  });
  t.like(
    rows.find(({ name }) => name === 'test.find'),
    { calls: '8' },
  );
  await store.close();
});

/** The default isolation level of compatible databases that are stricter than PostgreSQL. */
const SERIALIZABLE = '?options=-c%20default_transaction_isolation%3Dserializable';

test('Conflicts - transactions with serialization failures are retried until they succeed', async (t) => {
  const store = createStore(await openPostgres(`${t.context.url}${SERIALIZABLE}`, MIGRATIONS), TABLES);
  const { id: categoryId } = await store.write((tx) => tx.categories.insert(CATS));
  const pet = await store.write((tx) => tx.pets.insert(aPet({ name: 'Tom', categoryId, status: 'available' })));
  const id = pet?.id ?? toPetId(0n);
  let runs = 0;
  const addOne = () =>
    store.transaction(async (tx) => {
      runs += 1;
      const found = await tx.pets.lock(id);
      if (found !== undefined) await tx.pets.update({ ...found, quantity: found.quantity + 1 });
    });
  for (let round = 0; round < 10; round += 1) await Promise.all([addOne(), addOne(), addOne()]);
  t.is((await store.pets.find(id))?.quantity, 30);
  t.true(runs > 30, 'there was no conflict');
  await store.close();
});

test('Conflicts - a transaction that keeps failing is unavailable after 5 retries', async (t) => {
  const engine = await openPostgres(t.context.url, MIGRATIONS);
  const conflict = compile('conflict', engine.knex.raw("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"));
  let runs = 0;
  const work = async (tx: Runner) => {
    runs += 1;
    await tx.all(conflict, {});
  };
  await t.throwsAsync(engine.transaction(work), { instanceOf: StoreUnavailable });
  t.is(runs, 6);
  await engine.close();
});

test('PostgreSQL - a database that does not exist or refuses the login is reported with the reason', async (t) => {
  const url = new URL(t.context.url);
  url.pathname = '/nowhere';
  await t.throwsAsync(openPostgres(url.href, MIGRATIONS), {
    instanceOf: StoreUnavailable,
    message: 'database "nowhere" does not exist',
  });
  url.port = '1';
  await t.throwsAsync(openPostgres(url.href, MIGRATIONS), { instanceOf: StoreUnavailable, message: /ECONNREFUSED/ });
});
