/** What PostgreSQL's own features guarantee: its plans, how long migrations wait, refused starts. */
import { readFile } from 'node:fs/promises';
import type { Knex } from 'knex';
import { Client } from 'pg';
import { hashKey } from '../../src/platform/access/keys/format.ts';
import { demoKeyFile, ensureDemoKey } from '../../src/platform/access/keys/key-files.ts';
import { ConfigError } from '../../src/platform/config/config.ts';
import { openPostgres } from '../../src/platform/storage/postgres.ts';
import { atWork } from '../../src/platform/storage/postgres-client.ts';
import { compile } from '../../src/platform/storage/statement.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import { MIGRATIONS } from '../../src/schema.ts';
import { toCategoryId } from '../../src/shop/categories/table.ts';
import { orderTable } from '../../src/shop/orders/table.ts';
import { petTable, toPetId } from '../../src/shop/pets/table.ts';
import { holding, postgresMissing, query, startPostgres, type TestPostgres } from '../support/machine/postgres.ts';
import { temporaryFolder } from '../support/scope.ts';
import { sharing } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { openDatabase, openPool, settingsOf } from './postgres.ts';
import { addOne, newCategory, newPet, notingEngine } from './suite/database.ts';
import { runPlanSuite } from './suite/query-plans.ts';

let server: TestPostgres;
const test = sharing<unknown>(postgresMissing, async (t) => {
  server = await startPostgres(t, ['fsync=off']);
});
const LATIN1 = "template0 ENCODING 'LATIN1'";

test('PostgreSQL - several processes that start at once migrate once and create one demo key', async (t) => {
  const url = await server.createDatabase();
  const folder = temporaryFolder(t);
  const opened = await Promise.all([1, 2, 3, 4].map(() => openDatabase(t, url)));
  await Promise.all(opened.map(({ store }) => ensureDemoKey(store, folder)));
  const key = (await readFile(demoKeyFile(folder), 'utf8')).trim();
  for (const { store } of opened) {
    t.is((await store.accounts.page({ after: 0n, limit: 10 })).rows.length, 1);
    t.is((await store.accounts.findKey(hashKey(key)))?.account.name, 'Demo');
  }
});

test('PostgreSQL - a start that waits too long for another migration fails, with the reason', async (t) => {
  const url = await server.createDatabase();
  const other = await holding(url, 'SELECT pg_advisory_lock(7073746573)');
  const logged: string[] = [];
  const logger = { info: (_: object, text: string) => logged.push(text), warn: () => undefined };
  await t.throwsAsync(openPostgres(url, MIGRATIONS, { maxWaitMs: 2_000, logger }), {
    instanceOf: StoreUnavailable,
    message: /^another process has been changing the database for 2 s: wait until it is done, or end it/,
  });
  t.deepEqual(logged, ['another process is changing the database: waiting for it to be done']);
  await other.end();
});

test('PostgreSQL - a migration waits 10 s for a table that is in use, then fails and changes nothing', async (t) => {
  const url = await server.createDatabase();
  await (await openPostgres(url, MIGRATIONS)).close();
  const up = (knex: Knex) =>
    knex.schema.createTable('late', () => undefined).alterTable('bans', (bans) => bans.text('why'));
  const more = [...MIGRATIONS, { name: '999-late', isAdditive: true, up }];
  const user = await holding(url, 'BEGIN; LOCK TABLE bans');
  const beganMs = performance.now();
  await t.throwsAsync(openPostgres(url, more), { instanceOf: StoreUnavailable });
  const waitedMs = performance.now() - beganMs;
  t.true(waitedMs > 9_500 && waitedMs < 20_000, `${waitedMs} ms`);
  const found = async () => (await query(url, "SELECT to_regclass('late') AS found"))[0]?.found;
  t.is(await found(), null);
  await user.end();
  await (await openPostgres(url, more)).close();
  t.not(await found(), null);
});

test('PostgreSQL - a migration that a deadlock with a caller ends runs again', async (t) => {
  const url = await server.createDatabase();
  await (await openPostgres(url, MIGRATIONS)).close();
  const caller = await holding(url, "SET deadlock_timeout = '1min'; BEGIN; LOCK TABLE orders");
  let runs = 0;
  const up = async (knex: Knex) => {
    runs += 1;
    await knex.raw('LOCK TABLE pets');
    if (runs === 1) void caller.query('LOCK TABLE pets; COMMIT');
    await knex.raw('LOCK TABLE orders');
  };
  await (await openPostgres(url, [...MIGRATIONS, { name: '999-locks', isAdditive: true, up }])).close();
  t.is(runs, 2);
  await caller.end();
});

test('PostgreSQL - a migration whose process stands still keeps its locks for 10 s at most', async (t) => {
  const url = await server.createDatabase();
  await (await openPostgres(url, MIGRATIONS)).close();
  const [standing, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const up = async (knex: Knex) => {
    await knex.raw('LOCK TABLE pets');
    standing.resolve();
    await resumed.promise;
  };
  const migrating = openPostgres(url, [...MIGRATIONS, { name: '998-standing', isAdditive: true, up }]);
  await standing.promise;
  await query(url, "BEGIN; SET LOCAL lock_timeout = '20s'; LOCK TABLE pets; COMMIT");
  resumed.resolve();
  await t.throwsAsync(migrating, { instanceOf: StoreUnavailable });
});

test('PostgreSQL - a call that gets no connection in time is refused, and the database is not away', async (t) => {
  const { logged, pool, query } = await openPool(t, await server.createDatabase());
  const end = Promise.withResolvers<void>();
  const first = pool.use(() => end.promise);
  await t.throwsAsync(query('SELECT 1'), { instanceOf: StoreUnavailable });
  end.resolve();
  await first;
  t.deepEqual(logged, []);
});

test('PostgreSQL - is unavailable when it lacks time or resources, and away when it ends connections', async (t) => {
  const { logged, query } = await openPool(t, await server.createDatabase());
  const raise = (code: string) => query(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}'; END $$`);
  const areUnavailable = async (...codes: string[]) => {
    for (const code of codes) await t.throwsAsync(raise(code), { instanceOf: StoreUnavailable }, code);
  };
  await areUnavailable('57014', '25P03', '25P04', '53100', '53200', '25006');
  t.deepEqual(logged, []);
  await areUnavailable('08006', '57P01', '57P02', '57P03', '57P05');
  t.deepEqual(logged, ['away']);
  await t.throwsAsync(raise('23514'), { code: '23514' });
});

test('PostgreSQL - a session whose prepared statements are gone, or return another type, is closed', async (t) => {
  const url = await server.createDatabase();
  const { engine } = await openDatabase(t, url, { connections: 2 });
  const name = compile('name', engine.knex.raw('select name from categories'));
  const forget = compile('forget', engine.knex.raw('deallocate all'));
  const read = () => engine.reader.all(name, {});
  for (const change of [
    () => query(url, 'ALTER TABLE categories ALTER COLUMN name TYPE varchar(300)'),
    () => engine.reader.all(forget, {}),
  ]) {
    t.deepEqual(await read(), []);
    await change();
    await t.throwsAsync(read(), { instanceOf: StoreUnavailable });
    t.deepEqual(await read(), []);
  }
});

test('PostgreSQL - one that is set to take no writes refuses them alone: reads go on, on their sessions', async (t) => {
  const url = await server.createDatabase();
  await (await openPostgres(url, MIGRATIONS)).close();
  await query(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`);
  const { engine, store, warned } = await openDatabase(t, url);
  const session = compile('session', engine.knex.raw('select pg_backend_pid() as pid'));
  const before = await engine.reader.all(session, {});
  for (let tries = 0; tries < 3; tries += 1) {
    await t.throwsAsync(newCategory(store), { instanceOf: StoreUnavailable, message: /read-only/ });
    t.deepEqual(await engine.reader.all(session, {}), before);
  }
  t.deepEqual(warned, []);
});

test('PostgreSQL - a failure of a call that began before the database was back is old news', async (t) => {
  const { logged, availability } = await openPool(t, await server.createDatabase());
  const beganMs = performance.now();
  availability.noteFailure(new Error('refused'), beganMs);
  availability.noteResponse(beganMs + 900); // a server that stops may still respond
  t.true(availability.isAway);
  availability.noteResponse(performance.now() + 1_001);
  availability.noteFailure(new Error('no response'), performance.now() - 5_000);
  t.deepEqual(logged, ['away', 'the database is back']);
});

test('PostgreSQL - one that refuses a session and then says nothing, not even the end, holds up nobody', async (t) => {
  const url = await server.createDatabase();
  const { proxy, query: ask } = await openPool(t, url);
  await query(
    url,
    `CREATE OR REPLACE FUNCTION adopt_event_history() RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(1); RAISE 'it is a standby' USING ERRCODE = '57P03'; END $$`,
  );
  const beganMs = performance.now();
  const refused = t.throwsAsync(ask('SELECT 1'), { instanceOf: StoreUnavailable, message: 'it is a standby' });
  const asked = "SELECT FROM pg_stat_activity WHERE query LIKE '%adopt_event_history%' AND wait_event = 'PgSleep'";
  await until(async () => (await query(url, asked)).length > 0, 'the start of a session');
  proxy.silenceBehindNext();
  await refused;
  t.true(performance.now() - beganMs < 10_000);
});

test('PostgreSQL - a session that was left frees its place, however long a connection takes to open', async (t) => {
  const { proxy, query: ask } = await openPool(t, await server.createDatabase());
  await ask('SELECT 1');
  proxy.dropResponses();
  await t.throwsAsync(ask('SELECT 1'), { instanceOf: StoreUnavailable });
  proxy.restore();
  proxy.slow(1_100); // to connect takes twice as long
  t.truthy(await until(() => ask('SELECT 1').catch(() => undefined), 'a place', 45_000));
});

/** What no PostgreSQL sends: rows and errors that end too soon, lengths and types that do not exist. */
const BROKEN: Readonly<Record<string, readonly number[]>> = {
  'a row of length 0': [0x44, 0, 0, 0, 0],
  'a row that ends within a value': [0x44, 0, 0, 0, 12, 0, 1, 0, 0, 1, 0, 65, 66],
  'a row of -1 values': [0x44, 0, 0, 0, 6, 255, 255],
  'an error of length 0': [0x45, 0, 0, 0, 0],
  'an error without an end': [0x45, 0, 0, 0, 6, 0x4d, 65],
  'a notice without an end': [0x4e, 0, 0, 0, 4],
  'an unknown type': [0x79, 0, 0, 0, 4],
  'an unknown authentication': [0x52, 0, 0, 0, 8, 0, 0, 0, 99],
};

for (const [name, bytes] of Object.entries(BROKEN)) {
  test(`PostgreSQL - a response with ${name} ends its connection alone, and the call is unavailable`, async (t) => {
    const { proxy, query } = await openPool(t, await server.createDatabase());
    const select = () => query('SELECT 1 AS one');
    for (const accepted of [1, 2]) {
      t.deepEqual((await select()).rows, [{ one: 1 }]);
      t.is(proxy.accepted, accepted);
      proxy.replaceNext(Buffer.from(bytes));
      await t.throwsAsync(select(), { instanceOf: StoreUnavailable });
    }
    proxy.replaceNext(Buffer.from(bytes)); // while it connects
    await t.throwsAsync(select(), { instanceOf: StoreUnavailable });
    t.deepEqual((await select()).rows, [{ one: 1 }]);
  });
}

test('PostgreSQL - is at work on a statement, and not on one whose execution has been lost on the way', async (t) => {
  const url = await server.createDatabase();
  const [busy, halted] = [new Client(url), new Client(url)];
  const processes: number[] = [];
  for (const client of [busy, halted]) {
    client.on('error', () => undefined);
    await client.connect();
    t.teardown(() => client.connection.stream.destroy());
    processes.push((await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid);
  }
  const sleeping = busy.query('SELECT pg_sleep(60)').catch(() => undefined);
  const { connection } = halted;
  connection.parse({ name: '', text: 'SELECT 1', types: [] }, true);
  connection.bind({ statement: '' }, true);
  connection.flush();
  await until(async () => (await atWork(url, processes)).size === 1, 'the look-up, after 5 s');
  t.deepEqual([...(await atWork(url, processes))], processes.slice(0, 1));
  busy.connection.stream.destroy();
  await sleeping;
});

test('PostgreSQL - transactions and statements are READ COMMITTED with timeouts, whatever the defaults', async (t) => {
  const url = await server.createDatabase();
  for (const setting of ["default_transaction_isolation = 'serializable'", "lock_timeout = '1h'"]) {
    await query(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${setting}`);
  }
  const { engine, store } = await openDatabase(t, `${url}?options=-c%20statement_timeout%3D1h`);
  const timeouts = { lock_timeout: '4s', statement_timeout: '5s', idle_in_transaction_session_timeout: '5s' };
  const settings = { transaction_isolation: 'read committed', ...timeouts };
  t.deepEqual(await settingsOf(engine, Object.keys(settings)), Array(3).fill(settings));
  const pet = await newPet(store);
  await Promise.all(Array.from({ length: 30 }, () => addOne(store, pet.id)));
  t.is((await store.pets.find(pet.id))?.quantity, 30);
});

for (const [what, place, refusal] of [
  ['a user who may create no tables', { username: 'visitor' }, /permission denied for schema public: let the owner of/],
  ['a search_path to no schema', { search: 'options=-c%20search_path%3Dnowhere' }, /to create in: create the schema/],
  ['an encoding without every character', {}, /no equivalent in .*"LATIN1": create the database with ENCODING 'UTF8'/],
] as const) {
  test(`Start - with ${what} is refused in one line, with a way out`, async (t) => {
    const admin = await server.createDatabase(what.includes('encoding') ? LATIN1 : undefined);
    if ('username' in place) await query(admin, `CREATE ROLE ${place.username} LOGIN`);
    const { href } = Object.assign(new URL(admin), place);
    const error = await t.throwsAsync(openPostgres(href, MIGRATIONS), { instanceOf: ConfigError, message: refusal });
    t.regex(error?.message ?? '', /^DATABASE_URL can't be used: .+$/);
  });
}

test('PostgreSQL - statements of a transaction run one by one; where one fails, it does, ignored or not', async (t) => {
  const { engine } = await openDatabase(t, await server.createDatabase());
  const statement = (sql: string) => compile(sql, engine.knex.raw(sql));
  const txid = statement('SELECT txid_current() AS id, pg_sleep(0.01)');
  const rows = (await engine.transaction((tx) => Promise.all([1, 2, 3].map(() => tx.all(txid, {}))))).flat();
  t.deepEqual([rows.length, new Set(rows.map(({ id }) => id)).size], [3, 1]);
  const ignoring = engine.transaction((tx) => tx.all(statement('SELECT 1 / 0'), {}).catch(() => []));
  await t.throwsAsync(ignoring, { message: 'the transaction ended with ROLLBACK' });
});

/** An index is used wherever it can be: the tables are empty, and PostgreSQL would scan, sort or build a bitmap. */
const BY_INDEX = `?options=${['seqscan', 'sort', 'bitmapscan'].map((way) => `-c%20enable_${way}%3Doff`).join('%20')}`;

runPlanSuite(postgresMissing, async (t) => {
  const engine = await openPostgres(`${await server.createDatabase()}${BY_INDEX}`, MIGRATIONS);
  t.teardown(() => engine.close());
  return {
    engine,
    async searched({ name, sql, bind }, values) {
      const explain = { name: `explain ${name}`, sql: `EXPLAIN (COSTS OFF) ${sql}`, bind };
      const plan = (await engine.reader.all(explain, values)).map((row) => row['QUERY PLAN']).join('\n');
      const [, condition] = ONE_SEARCH.exec(plan) ?? [];
      return condition === undefined ? plan : toColumns(condition);
    },
  };
});

/** Each value is half of its column, and no two of different columns go together. What is looked for comes last. */
const MISLEADING = `
  SET session_replication_role = replica;
  INSERT INTO categories (name) VALUES ('Cats'), ('Dogs');
  INSERT INTO pets (name, category_id, status)
    SELECT 'Pet', 1 + n / 10000, CASE WHEN n < 10000 THEN 'available' ELSE 'sold' END FROM generate_series(0, 19999) n;
  INSERT INTO orders (pet_id, quantity, complete) SELECT 1 + n / 10000, 1, n >= 10000 FROM generate_series(0, 19999) n;
  ANALYZE`;

test('PostgreSQL - a list whose filters match nothing together reads no other rows', async (t) => {
  const url = await server.createDatabase();
  const { engine } = await openDatabase(t, url);
  await query(url, MISLEADING);
  const { noted, runner, engine: noting } = notingEngine(engine);
  const [pets, orders] = [petTable(noting), orderTable(noting)];
  const page = { after: 0n, limit: 1 };
  const [cats, dogs, one, two] = [toCategoryId(1n), toCategoryId(2n), toPetId(1n), toPetId(2n)];
  await Promise.allSettled([
    pets.reads.page(page, { categoryId: cats, status: 'sold' }),
    pets.reads.page({ ...page, after: 10_000n }, { status: 'available' }),
    orders.reads.page(page, { petId: one, complete: true }),
    pets.writes(runner).existsInCategory(dogs),
    orders.writes(runner).hasOpen(two),
  ]);
  t.is(noted.length, 5);
  for (const [{ name, sql, bind }, params] of noted) {
    const explain = { name: `explain ${name}`, sql: `EXPLAIN (ANALYZE, BUFFERS) ${sql}`, bind };
    const plan = (await engine.reader.all(explain, params)).map((row) => row['QUERY PLAN']).join('\n');
    const [, read = 'none'] = /Buffers: shared hit=(\d+)/.exec(plan) ?? [];
    t.true(Number(read) < 12, plan);
  }
});

/** A plan that is one index scan, or only limits, locks or counts what that finds. */
const ONE_SEARCH = /^(?:(?:Limit|LockRows|Aggregate)\n *-> +)*Index (?:Only )?Scan .*\n *Index Cond: (.*)/;

/** `((category_id = '1'::bigint) AND (id > '0'::bigint))` as `category_id=? AND id>?`. */
function toColumns(condition: string): string {
  const compared = / = ANY \(.*?\)|( [<>=]+ )\(?'?[^ ]*?'?(::\w+)?(?=\))/g;
  return condition
    .replaceAll(
      /ROW\(([\w, ]+)\) ([<>])=? ROW\([^)]*\)/g,
      (_, names: string, sign) => `${names.replaceAll(' ', '')}${sign}?`,
    )
    .replaceAll(compared, (_, operator?: string) => `${operator?.trim() ?? '='}?`)
    .replaceAll(/([<>])=/g, '$1')
    .replaceAll(/[()]/g, '');
}
