/** Every read uses an index, in the order of that index, and never scans a table. */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { accountStatements } from '../../../src/storage/accounts.ts';
import { categoryStatements } from '../../../src/storage/categories.ts';
import type { Engine } from '../../../src/storage/engine.ts';
import { idempotencyStatements } from '../../../src/storage/idempotency.ts';
import { orderStatements } from '../../../src/storage/orders.ts';
import { petStatements } from '../../../src/storage/pets.ts';
import type { Params, Statement } from '../../../src/storage/statement.ts';
import { usageStatements } from '../../../src/storage/usage.ts';

/** Reads a statement's plan from the engine under test. */
export interface Planner {
  readonly engine: Engine;
  /** Resolves with the condition of the one index search, such as `category_id=? AND id>?`, or with other text. */
  searched(statement: Statement, values: Params): Promise<string>;
  close(): Promise<void>;
}

const test = anyTest as TestFn<Planner>;

const VALUES = {
  id: 1n,
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

/** Asserts that a statement is one index search, by one of these lists of columns. */
async function searches(t: ExecutionContext<Planner>, statement: Statement, ...columns: string[]): Promise<void> {
  const { engine, searched } = t.context;
  const found = await searched(statement, { ...VALUES, ids: engine.toIdList([1n, 2n, 3n]) });
  t.true(columns.includes(found), `${statement.name}: ${found}`);
}

export function runPlanSuite(createPlanner: () => Promise<Planner>): void {
  test.before(async (t) => {
    t.context = await createPlanner();
  });
  test.after.always((t) => t.context.close());

  test('Pages of pets - every combination of filters starts where the last page ended', async (t) => {
    const { select } = petStatements(t.context.engine);
    await searches(t, select([]), 'id>?');
    await searches(t, select(['status']), 'status=? AND id>?');
    await searches(t, select(['categoryId']), 'category_id=? AND id>?');
    await searches(t, select(['status', 'categoryId']), 'category_id=? AND status=? AND id>?');
  });

  test('Pets by ids - are found by an index, with any other filters', async (t) => {
    const { select } = petStatements(t.context.engine);
    await searches(t, select(['ids']), 'id=?');
    await searches(t, select(['status', 'ids']), 'id=?', 'status=? AND id=?');
    await searches(t, select(['categoryId', 'ids']), 'id=?', 'category_id=? AND id=?');
    const byAll = ['id=?', 'category_id=? AND status=?', 'category_id=? AND status=? AND id=?'];
    await searches(t, select(['status', 'categoryId', 'ids']), ...byAll);
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

  test('Look-ups - are one index search', async (t) => {
    const { engine } = t.context;
    await searches(t, categoryStatements(engine).byIds, 'id=?');
    await searches(t, orderStatements(engine).byIds, 'id=?');
    await searches(t, accountStatements(engine).find, 'id=?');
    await searches(t, accountStatements(engine).keyByHash, 'hash=?');
    for (const { lock } of [categoryStatements(engine), orderStatements(engine), petStatements(engine)]) {
      await searches(t, lock, 'id=?');
    }
  });

  test('Idempotency records - are found by an index', async (t) => {
    await searches(t, idempotencyStatements(t.context.engine).byIds, 'id=?');
  });

  test('Checks within a transaction - are one index search', async (t) => {
    const { engine } = t.context;
    await searches(t, orderStatements(engine).open, 'pet_id=? AND complete=?');
    await searches(t, orderStatements(engine).openUnits, 'pet_id=? AND complete=?');
    await searches(t, petStatements(engine).anyInCategory, 'category_id=?');
  });

  test('Usage - a day and an account are found by an index', async (t) => {
    const { ofDay, ofAccount } = usageStatements(t.context.engine);
    await searches(t, ofDay, 'day_index=?');
    await searches(t, ofAccount, 'account_id=? AND day_index>?');
  });
}
