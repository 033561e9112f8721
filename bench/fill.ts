/** Makes a database of a given size, through the storage layer and before a server opens it: seconds for a million. */
import { type Engine, onlyRow } from '../src/storage/engine.ts';
import { compile, param } from '../src/storage/statement.ts';

export const CATEGORIES = 10;
/** Pets of each state among four, so that each filter matches a full page at 1,000 pets already. */
const STATES = ['available', 'available', 'pending', 'sold'] as const;
/** Pets in one statement: far fewer than PostgreSQL inserts in the 4.5 s that the engine gives it. */
const BATCH = 20_000;

/**
 * Puts the pets 1 to `pets` into an empty database, spread over categories and states. Calls `onProgress` with how many
 * there are.
 */
export async function fillDatabase(
  engine: Engine,
  pets: number,
  signal: AbortSignal,
  onProgress: (done: number) => void,
): Promise<void> {
  await insertCategories(engine);
  const insert = insertPets(engine);
  for (let first = 1; first <= pets; first += BATCH) {
    signal.throwIfAborted();
    const last = Math.min(first + BATCH - 1, pets);
    await engine.write(insert, { first, last });
    onProgress(last);
  }
  await checkIds(engine, pets);
}

async function insertCategories({ knex, transaction }: Engine): Promise<void> {
  const insert = compile('bench.categories', knex('categories').insert({ name: param('name') }));
  await transaction(async (tx) => {
    for (let id = 1; id <= CATEGORIES; id += 1) await tx.all(insert, { name: `Category ${id}` });
  });
}

/** The pets of a range of ids, made inside the database: no value crosses over to it. */
function insertPets({ knex }: Engine) {
  const states = STATES.map((state, rest) => `when ${rest} then '${state}'`).join(' ');
  const sql = `
    with recursive numbers(n) as (
      select cast(? as bigint) union all select n + 1 from numbers where n < cast(? as bigint)
    )
    insert into pets (name, category_id, status, quantity)
    select 'Pet ' || n, 1 + n % ${CATEGORIES}, case (n / ${CATEGORIES}) % ${STATES.length} ${states} end, 1
    from numbers`;
  return compile('bench.pets', knex.raw(sql, [param('first'), param('last')] as never));
}

/** The rows ask for ids from 1 to `pets`. */
async function checkIds({ knex, reader }: Engine, pets: number): Promise<void> {
  const count = compile('bench.count', knex('pets').count('id as count').max('id as last'));
  const row = onlyRow(await reader.all(count, {}));
  const [found, last] = [row.count, row.last].map(Number); // PostgreSQL's are texts
  if (found !== pets || last !== pets) throw new Error(`expected pets 1 to ${pets}, found ${found} up to ${last}`);
}
