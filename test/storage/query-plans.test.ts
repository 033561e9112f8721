/** How SQLite finds the rows of each reading statement: by an index, in its order, never by going through a table. */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { accountStatements } from '../../src/storage/accounts.ts';
import { categoryStatements } from '../../src/storage/categories.ts';
import type { Engine } from '../../src/storage/engine.ts';
import { orderStatements } from '../../src/storage/orders.ts';
import { petStatements } from '../../src/storage/pets.ts';
import type { Statement } from '../../src/storage/statement.ts';
import { usageStatements } from '../../src/storage/usage.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

interface Context {
  readonly database: TestDatabase;
  readonly engine: Engine;
}
const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const database = await createTestDatabase();
  t.context = { database, engine: await database.open() };
});
test.after.always(async (t) => {
  await t.context.engine.close();
  await t.context.database.remove();
});

const VALUES = {
  id: 1n,
  ids: '[1,2,3]',
  after: 0n,
  rows: 21,
  status: 'available',
  categoryId: 1n,
  petId: 1n,
  complete: false,
  except: 0n,
  accountId: 1n,
  hash: Buffer.alloc(32),
  dayIndex: 1,
  fromDayIndex: 1,
};

/** The lines of SQLite's plan for a statement, without those of the list of ids that it is given. */
async function planOf({ engine }: Context, { name, sql, bind }: Statement): Promise<string[]> {
  const explain = { name: `explain ${name}`, sql: `EXPLAIN QUERY PLAN ${sql}`, bind };
  const rows = await engine.reader.all(explain, VALUES);
  return rows.map(({ detail }) => String(detail)).filter((line) => !/json_each|LIST SUBQUERY|BLOOM/.test(line));
}

/** Holds a statement to one index search, by one of the lists of columns. */
async function searches(t: ExecutionContext<Context>, statement: Statement, ...columns: string[]): Promise<void> {
  const plan = await planOf(t.context, statement);
  t.is(plan.length, 1, `${statement.name}: ${plan.join('; ')}`);
  t.regex(plan[0] ?? '', /^SEARCH \w+ USING (?:COVERING INDEX|INDEX|INTEGER PRIMARY KEY)/, statement.name);
  const [, searched = ''] = /\(([^()]*)\)$/.exec(plan[0] ?? '') ?? [];
  t.true(columns.includes(searched.replaceAll('rowid', 'id')), `${statement.name}: ${plan[0]}`);
}

test('Pages of pets - every combination of filters starts where the last page ended', async (t) => {
  const { select } = petStatements(t.context.engine);
  await searches(t, select([]), 'id>?');
  await searches(t, select(['status']), 'status=? AND id>?');
  await searches(t, select(['categoryId']), 'category_id=? AND id>?');
  await searches(t, select(['status', 'categoryId']), 'category_id=? AND status=? AND id>?');
});

test('Pets by ids - go to the very rows, whatever the other filters', async (t) => {
  const { select } = petStatements(t.context.engine);
  await searches(t, select(['ids']), 'id=?');
  await searches(t, select(['status', 'ids']), 'id=?', 'status=? AND id=?');
  await searches(t, select(['categoryId', 'ids']), 'id=?', 'category_id=? AND id=?');
  await searches(t, select(['status', 'categoryId', 'ids']), 'id=?', 'category_id=? AND status=? AND id=?');
});

test('Pages of orders - every combination of filters starts where the last page ended', async (t) => {
  const { page } = orderStatements(t.context.engine);
  await searches(t, page([]), 'id>?');
  await searches(t, page(['petId']), 'pet_id=? AND id>?');
  await searches(t, page(['complete']), 'complete=? AND id>?');
  await searches(t, page(['petId', 'complete']), 'pet_id=? AND complete=? AND id>?');
});

test('Pages of categories, accounts and keys - start where the last page ended', async (t) => {
  await searches(t, categoryStatements(t.context.engine).page, 'id>?');
  await searches(t, accountStatements(t.context.engine).page, 'id>?');
  await searches(t, accountStatements(t.context.engine).keyPage, 'account_id=? AND id>?');
});

test('Look-ups - go to the very rows', async (t) => {
  const { engine } = t.context;
  await searches(t, categoryStatements(engine).byIds, 'id=?');
  await searches(t, orderStatements(engine).byIds, 'id=?');
  await searches(t, accountStatements(engine).find, 'id=?');
  await searches(t, accountStatements(engine).keyByHash, 'hash=?');
  for (const { lock } of [categoryStatements(engine), orderStatements(engine), petStatements(engine)]) {
    await searches(t, lock, 'id=?');
  }
});

test('Checks within a transaction - are one index search', async (t) => {
  const { engine } = t.context;
  await searches(t, orderStatements(engine).open, 'pet_id=? AND complete=?');
  await searches(t, petStatements(engine).anyInCategory, 'category_id=?');
});

test('Usage - a day and an account are found by an index', async (t) => {
  const { ofDay, ofAccount } = usageStatements(t.context.engine);
  await searches(t, ofDay, 'day_index=?');
  await searches(t, ofAccount, 'account_id=? AND day_index>?');
});
