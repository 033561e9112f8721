/**
 * Every migration since 1.0.0, at once, beside a server of 1.0.0 that reads and writes. `PETS=300000` is the long form,
 * which nightly.yml runs: a minute on each engine.
 */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext as Test } from 'ava';
import type { Engine } from '../../src/platform/storage/engine.ts';
import type { SqlValue } from '../../src/platform/storage/fields.ts';
import type { Migration } from '../../src/platform/storage/migrate.ts';
import { openPostgres } from '../../src/platform/storage/postgres.ts';
import { openSqlite } from '../../src/platform/storage/sqlite.ts';
import { compile, param } from '../../src/platform/storage/statement.ts';
import { createStore } from '../../src/platform/storage/store.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import { MIGRATIONS, type Store, TABLES } from '../../src/schema.ts';
import { Random } from '../chaos/campaign/random.ts';
import { dumpsMissing, run } from '../deploy/backups.ts';
import { eventsOf } from '../storage/suite/database.ts';
import { type Load, startLoad, untilMore } from '../support/calls/load.ts';
import { change } from '../support/machine/database.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { query, startPostgres } from '../support/machine/postgres.ts';
import { testUnless } from '../support/machine/programs.ts';
import { TestProcess } from '../support/service/process.ts';

const PETS = Number(process.env.PETS ?? 20_000);
/** A write waits for the migration for 4 s on PostgreSQL, for 5 s on SQLite. That is enough for few pets. */
const MAY_BE_UNAVAILABLE = PETS > 50_000;
const WRITERS = 8;
const OF_1_0_0 = MIGRATIONS.filter(({ name }) => name < '006');
const MANY_PETS = `INSERT INTO pets (name, category_id, status, quantity)
  WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${PETS})
  SELECT 'Pet ' || n, 1, 'available', 1000 FROM n`;

const STEPS = ['order', 'order', 'order', 'change', 'cancel', 'create', 'rename', 'remove', 'category'] as const;
const SET_STOCK = 'UPDATE pets SET quantity = :units WHERE id = :pet';
/**
 * The transactions of a server of 1.0.0: its columns, and its order of locks. In SQL, since the tables and services of
 * today may have more columns.
 */
const WRITES: Readonly<Record<(typeof STEPS)[number], readonly string[]>> = {
  order: ['INSERT INTO orders (pet_id, quantity, complete) VALUES (:pet, 1, :complete) RETURNING id', SET_STOCK],
  change: ['UPDATE orders SET quantity = :units WHERE id = :order', SET_STOCK],
  cancel: ['DELETE FROM orders WHERE id = :order', SET_STOCK],
  create: ["INSERT INTO pets (name, category_id, status) VALUES ('New', 1, 'available') RETURNING id"],
  rename: ["UPDATE pets SET name = 'Newer' WHERE id = :create"],
  remove: ['DELETE FROM pets WHERE id = :create'],
  category: ["INSERT INTO categories (name) VALUES ('New')", "DELETE FROM categories WHERE name = 'New'"],
};
/** What today's connections call, in a schema behind the service's: 1.0.0 does not have it. */
const NO_HISTORY = `CREATE SCHEMA former;
  CREATE FUNCTION former.adopt_event_history() RETURNS text LANGUAGE sql AS $$ SELECT '' $$;
  DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, former', current_database()); END $$`;
const READ = 'SELECT id, name, category_id, status, quantity FROM pets WHERE id = :pet';

/** Reads, orders, changes and deletions. */
function startWrites({ knex, reader, transaction }: Engine): Load {
  const names = ['pet', 'units', 'complete', 'order', 'create'];
  const params = Object.fromEntries(names.map((name) => [name, param(name)]));
  const read = compile('read', knex.raw(READ, params));
  const statements = new Map(
    Object.entries(WRITES).map(([step, all]) => {
      return [step, all.map((sql, index) => compile(`${step} ${index}`, knex.raw(sql, params)))];
    }),
  );
  const random = new Random(1);
  /** The ids of the last order and the last new pet. */
  const last: Record<string, SqlValue> = { order: 0, create: 0 };
  const write = async () => {
    const step = random.pick(STEPS);
    const pet = random.int(1, random.pick([5, PETS]));
    const values = { ...last, pet, units: random.int(1, 1_000), complete: random.chance(0.5) };
    await reader.all(read, values);
    await transaction(async (tx) => {
      for (const statement of statements.get(step) ?? [])
        for (const { id } of await tx.all(statement, values)) last[step] = Number(id);
    });
    return 'done';
  };
  const unavailable = (error: unknown) => {
    if (error instanceof StoreUnavailable) return 'unavailable';
    throw error;
  };
  return startLoad(WRITERS, () => write().catch(unavailable), { pauseMs: 0 });
}

/** What the feed tells of each table, applied to nothing, must be the table. */
async function hasAllEvents(t: Test, { engine, store }: { engine: Engine; store: Store }): Promise<void> {
  const told = new Map<string, string>();
  for (const { type, row } of await eventsOf(store)) {
    const [kind = '', change] = type.split('.');
    const key = `${kind} ${JSON.parse(row).id}`;
    if (change === 'deleted') told.delete(key);
    else told.set(key, row);
  }
  const countOf = async (table: string) => {
    const all = compile(table, engine.knex(table).count('* as count'));
    return Number((await engine.reader.all(all, {}))[0]?.count);
  };
  const counts = await Promise.all(['categories', 'pets', 'orders'].map(countOf));
  t.is(
    told.size,
    counts.reduce((sum, count) => sum + count, 0),
  );
  for (let after = 0n; ; ) {
    const { rows, hasMore } = await store.pets.page({ after, limit: 1_000 });
    for (const { id, name, quantity, status } of rows)
      t.like(JSON.parse(told.get(`pet ${id}`) ?? '{}'), { name, quantity, status });
    after = rows.at(-1)?.id ?? after;
    if (!hasMore) break;
  }
}

async function migrateUnderLoad(
  t: Test,
  settings: Readonly<Record<string, string>>,
  open: (migrations: readonly Migration[]) => Promise<Engine>,
) {
  const former = await open(OF_1_0_0);
  const load = startWrites(former);
  await untilMore(load, 300);
  const migration = new TestProcess('src/migrate-main.ts', settings);
  const { code } = await migration.ended;
  await untilMore(load, 300);
  await load.stop();
  t.deepEqual({ code, errors: migration.errors }, { code: 0, errors: '' });
  t.log(`${PETS} pets: ${JSON.stringify([...load.answers])}`);
  const outcomes = [...load.answers.keys()].filter((outcome) => !MAY_BE_UNAVAILABLE || outcome !== 'unavailable');
  t.deepEqual(outcomes, ['done']);
  await former.close();
  const engine = await open(MIGRATIONS);
  await hasAllEvents(t, { engine, store: createStore(engine, TABLES) });
  await engine.close();
}

test('Migrations - beside a server of 1.0.0 on SQLite: one try, writes wait, each row has its events', async (t) => {
  t.timeout(600_000);
  const dataDir = join(temporaryFolder(t), 'data');
  const file = join(dataDir, 'petstore.sqlite');
  mkdirSync(dataDir, { mode: 0o700 });
  copyFileSync(new URL('1.0.0.sqlite', import.meta.url), file);
  change(dataDir, MANY_PETS);
  await migrateUnderLoad(t, { DATA_DIR: dataDir }, (migrations) => openSqlite(file, migrations));
});

const testPostgres = testUnless<unknown>(dumpsMissing);
testPostgres(
  'Migrations - beside a server of 1.0.0 on PostgreSQL: one try, writes wait, each row has its events',
  async (t) => {
    t.timeout(600_000);
    // PostgreSQL looks for a deadlock once, after so long: a short fill must take longer.
    const postgres = await startPostgres(t, ['deadlock_timeout=10ms', 'fsync=off']);
    const settings = { DATA_DIR: join(temporaryFolder(t), 'data'), DATABASE_URL: await postgres.createDatabase() };
    const { code, errors } = await run('restore', [new URL('1.0.0.dump', import.meta.url).pathname], settings);
    t.is(code, 0, errors);
    await query(settings.DATABASE_URL, MANY_PETS);
    await query(settings.DATABASE_URL, NO_HISTORY);
    await migrateUnderLoad(t, settings, (migrations) => openPostgres(settings.DATABASE_URL, migrations));
  },
);
