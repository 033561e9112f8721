/**
 * Every migration since 1.0.0, at once, beside a server of 1.0.0 that reads and writes. `PETS=300000` is the long form,
 * which nightly.yml runs: a minute on each engine.
 */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext as Test } from 'ava';
import { PetStatus } from '../../gen/petstore/v1/pets.ts';
import { ApiError } from '../../src/platform/errors.ts';
import type { Engine } from '../../src/platform/storage/engine.ts';
import type { Migration } from '../../src/platform/storage/migrate.ts';
import { START } from '../../src/platform/storage/model.ts';
import { openPostgres } from '../../src/platform/storage/postgres.ts';
import { openSqlite } from '../../src/platform/storage/sqlite.ts';
import { compile } from '../../src/platform/storage/statement.ts';
import { createStore } from '../../src/platform/storage/store.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import { MIGRATIONS, type Store, TABLES } from '../../src/schema.ts';
import { categoryService } from '../../src/shop/categories/service.ts';
import { orderService } from '../../src/shop/orders/service.ts';
import { petService } from '../../src/shop/pets/service.ts';
import { Random } from '../chaos/campaign/random.ts';
import { dumpsMissing, run } from '../deploy/backups.ts';
import { change } from '../support/machine/database.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { query, startPostgres } from '../support/machine/postgres.ts';
import { testUnless } from '../support/machine/programs.ts';
import { TestProcess } from '../support/service/process.ts';
import { until } from '../support/until.ts';

const PETS = Number(process.env.PETS ?? 20_000);
/** A write waits for the migration for 4 s on PostgreSQL, for 5 s on SQLite. That is enough for few pets. */
const MAY_BE_UNAVAILABLE = PETS > 50_000;
const WRITERS = 8;
const CONTEXT = { isCancelled: () => false };
const OF_1_0_0 = MIGRATIONS.filter(({ name }) => name < '006');
const STEPS = ['order', 'order', 'order', 'change', 'cancel', 'pet', 'rename', 'remove', 'category'] as const;
const MANY_PETS = `INSERT INTO pets (name, category_id, status, quantity)
  WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${PETS})
  SELECT 'Pet ' || n, 1, 'available', 1000 FROM n`;

/** Orders, changes and deletions, until `stop` resolves. */
function load(store: Store) {
  const [orders, pets, categories] = [orderService(store), petService(store), categoryService(store)];
  const [counts, failures] = [{ done: 0, unavailable: 0 }, [] as unknown[]];
  let isStopping = false;
  const writers = Array.from({ length: WRITERS }, async (_, seed) => {
    const random = new Random(seed);
    const [placed, made]: [bigint[], bigint[]] = [[], []];
    const steps = {
      async order() {
        const petId = BigInt(random.int(1, random.pick([5, PETS])));
        const order = { id: undefined, petId, quantity: 1, shipDate: undefined, complete: random.chance(0.5) };
        placed.push((await orders.placeOrder({ order }, CONTEXT)).id ?? 0n);
      },
      async change() {
        const order = { quantity: random.int(1, 3), shipDate: undefined, complete: undefined };
        await orders.updateOrder({ orderId: placed.at(-1) ?? 0n, order }, CONTEXT);
      },
      cancel: () => orders.cancelOrder({ orderId: placed.shift() ?? 0n }, CONTEXT),
      async pet() {
        const pet = { name: 'New', categoryId: 1n, status: PetStatus.available };
        made.push((await pets.createPet({ pet }, CONTEXT)).id ?? 0n);
      },
      async rename() {
        const pet = { name: 'Newer', categoryId: undefined, status: undefined };
        await pets.updatePet({ petId: made.at(-1) ?? 0n, pet }, CONTEXT);
      },
      remove: () => pets.deletePet({ petId: made.shift() ?? 0n }, CONTEXT),
      async category() {
        const { id } = await categories.createCategory({ category: { name: 'New', description: undefined } }, CONTEXT);
        await categories.deleteCategory({ categoryId: id }, CONTEXT);
      },
    };
    while (!isStopping) {
      try {
        await steps[random.pick(STEPS)]();
        counts.done += 1;
      } catch (error) {
        if (error instanceof StoreUnavailable) counts.unavailable += 1;
        else if (!(error instanceof ApiError)) failures.push(error); // what it is about may be gone, or complete
      }
    }
  });
  const stop = async () => {
    isStopping = true;
    await Promise.all(writers);
    return { ...counts, failures };
  };
  return { counts, stop };
}

/** What the feed tells of each table, applied to nothing, must be the table. */
async function hasAllEvents(t: Test, { engine, store }: { engine: Engine; store: Store }): Promise<void> {
  const told = new Map<string, string>();
  for (let after = START; ; ) {
    const events = await store.events.after(after, 2_000);
    for (const { type, row } of events) {
      const [kind = '', change] = type.split('.');
      const key = `${kind} ${JSON.parse(row).id}`;
      if (change === 'deleted') told.delete(key);
      else told.set(key, row);
    }
    after = events.at(-1)?.id ?? START;
    if (after === START) break;
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
  const store = createStore(await open(OF_1_0_0), TABLES);
  const { counts, stop } = load(store);
  const enough = () => {
    const before = counts.done;
    return until(() => counts.done > before + 300, 'writes', 60_000);
  };
  await enough();
  const migration = new TestProcess('src/migrate-main.ts', settings);
  const { code } = await migration.ended;
  await enough();
  const { failures, unavailable, done } = await stop();
  t.deepEqual({ code, errors: migration.errors, failures }, { code: 0, errors: '', failures: [] });
  t.log(`${PETS} pets: ${done} writes, ${unavailable} of which waited too long`);
  if (!MAY_BE_UNAVAILABLE) t.is(unavailable, 0);
  await store.close();
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
    await migrateUnderLoad(t, settings, (migrations) => openPostgres(settings.DATABASE_URL, migrations));
  },
);
