/** Fills a database through the storage layer, before a server opens it. A million pets take some seconds. */
import pino from 'pino';
import type { Config } from '../src/platform/config/config.ts';
import { openEngine } from '../src/platform/process/database.ts';
import type { Engine } from '../src/platform/storage/engine.ts';
import { compile, param } from '../src/platform/storage/statement.ts';
import { MIGRATIONS } from '../src/schema.ts';

export const CATEGORIES = 10;
/** The statuses of pets in turn: with 1,000 pets each filter already matches a full page. */
const STATUSES = ['available', 'available', 'pending', 'sold'] as const;
/** Rows in one statement: far fewer than PostgreSQL inserts in the engine's timeout of 4.5 s. */
const BATCH = 20_000;

/** Inserts the pets 1 to `pets`, which the scenarios request, into an empty database. */
export async function fillDatabase(engine: Engine, pets: number, signal?: AbortSignal): Promise<void> {
  await insertCategories(engine);
  await insertRows(engine, 'pets', PETS, pets, signal);
}

/** A hundred thousand pets and orders, and categories whose rows and events are the largest. */
export async function fillForPrices(config: Config): Promise<void> {
  const engine = await openEngine(config, MIGRATIONS, pino({ level: 'silent' }));
  await fillDatabase(engine, 100_000);
  const insert = compile(
    'bench.large',
    engine.knex('categories').insert({ name: param('name'), description: param('text') }),
  );
  await engine.transaction(async (tx) => {
    for (let id = 1; id <= 2_000; id += 1) await tx.all(insert, { name: `Large ${id}`, text: '\x01'.repeat(2_000) });
  });
  await insertRows(engine, 'orders', ORDERS, 100_000);
  await engine.close();
}

async function insertCategories({ knex, transaction }: Engine): Promise<void> {
  const insert = compile('bench.categories', knex('categories').insert({ name: param('name') }));
  await transaction(async (tx) => {
    for (let id = 1; id <= CATEGORIES; id += 1) await tx.all(insert, { name: `Category ${id}` });
  });
}

const PETS = `(name, category_id, status, quantity)
  select 'Pet ' || n, 1 + n % ${CATEGORIES}, case (n / ${CATEGORIES}) % ${STATUSES.length} ${STATUSES.map(
    (status, rest) => `when ${rest} then '${status}'`,
  ).join(' ')} end, 1`;
const ORDERS = '(pet_id, quantity, complete) select n, 1, n % 2 = 0';

/** Inserts `count` rows, whose ids the database makes itself: `insert` selects one for each number `n`. */
async function insertRows(engine: Engine, name: string, insert: string, count: number, signal?: AbortSignal) {
  const sql = `
    with recursive numbers(n) as (
      select cast(? as bigint) union all select n + 1 from numbers where n < cast(? as bigint)
    )
    insert into ${name} ${insert} from numbers`;
  const statement = compile(`bench.${name}`, engine.knex.raw(sql, [param('first'), param('last')] as never));
  for (let first = 1; first <= count; first += BATCH) {
    signal?.throwIfAborted();
    const last = Math.min(first + BATCH - 1, count);
    await engine.write((tx) => tx.all(statement, { first, last }));
  }
}
