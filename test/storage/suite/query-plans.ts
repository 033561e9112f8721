/** Every read uses an index, in the order of that index, and never scans a table. */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { accountTable, keyTable } from '../../../src/access/tables/accounts.ts';
import { usageTable } from '../../../src/access/tables/usage.ts';
import { categoryTable } from '../../../src/shop/category-table.ts';
import { orderTable } from '../../../src/shop/order-table.ts';
import { petTable } from '../../../src/shop/pet-table.ts';
import type { Engine } from '../../../src/storage/engine.ts';
import { idempotencyTable } from '../../../src/storage/idempotency.ts';
import type { Params, Statement } from '../../../src/storage/statement.ts';

/** Reads a statement's plan from the engine under test. */
export interface Planner {
  readonly engine: Engine;
  /** Resolves with the condition of the one index search, such as `category_id=? AND id>?`, or with other text. */
  searched(statement: Statement, values: Params): Promise<string>;
  close(): Promise<void>;
}

const test = anyTest as TestFn<Planner>;

const VALUES = {
  ids: [1n, 2n, 3n],
  id: 1n,
  after: 0n,
  rows: 21,
  status: 'available',
  category_id: 1n,
  pet_id: 1n,
  petId: 1n,
  complete: false,
  except: 0n,
  account_id: 1n,
  accountId: 1n,
  hash: Buffer.alloc(32),
  dayIndex: 1,
  fromDayIndex: 1,
};

/** Asserts that a statement is one index search, by one of these lists of columns. */
async function searches(t: ExecutionContext<Planner>, statement: Statement, ...columns: string[]): Promise<void> {
  const found = await t.context.searched(statement, VALUES);
  t.true(columns.includes(found), `${statement.name}: ${found}`);
}

export function runPlanSuite(createPlanner: () => Promise<Planner>): void {
  test.before(async (t) => {
    t.context = await createPlanner();
  });
  test.after.always((t) => t.context.close());

  test('Pages of pets - every combination of filters starts where the last page ended', async (t) => {
    const { page } = petTable(t.context.engine).statements;
    await searches(t, page([]), 'id>?');
    await searches(t, page(['status']), 'status=? AND id>?');
    await searches(t, page(['category_id']), 'category_id=? AND id>?');
    await searches(t, page(['category_id', 'status']), 'category_id=? AND status=? AND id>?');
  });

  test('Pets by ids - are found by an index, with any other filters', async (t) => {
    const { byIds } = petTable(t.context.engine).statements;
    await searches(t, byIds([]), 'id=?');
    await searches(t, byIds(['status']), 'id=?', 'status=? AND id=?');
    await searches(t, byIds(['category_id']), 'id=?', 'category_id=? AND id=?');
    const byAll = ['id=?', 'category_id=? AND status=?', 'category_id=? AND status=? AND id=?'];
    await searches(t, byIds(['category_id', 'status']), ...byAll);
  });

  test('Pages of orders - every combination of filters starts where the last page ended', async (t) => {
    const { page } = orderTable(t.context.engine).statements;
    await searches(t, page([]), 'id>?');
    await searches(t, page(['pet_id']), 'pet_id=? AND id>?');
    await searches(t, page(['complete']), 'complete=? AND id>?');
    await searches(t, page(['pet_id', 'complete']), 'pet_id=? AND complete=? AND id>?');
  });

  test('Pages of categories, accounts and keys - start where the last page ended', async (t) => {
    await searches(t, categoryTable(t.context.engine).statements.page([]), 'id>?');
    await searches(t, accountTable(t.context.engine).statements.page([]), 'id>?');
    await searches(t, keyTable(t.context.engine).statements.page(['account_id']), 'account_id=? AND id>?');
  });

  test('Look-ups - are one index search', async (t) => {
    const { engine } = t.context;
    await searches(t, categoryTable(engine).statements.byIds([]), 'id=?');
    await searches(t, orderTable(engine).statements.byIds([]), 'id=?');
    await searches(t, accountTable(engine).statements.byIds([]), 'id=?');
    await searches(t, accountTable(engine).statements.keyByHash, 'hash=?');
    for (const { lock } of [
      categoryTable(engine).statements,
      orderTable(engine).statements,
      petTable(engine).statements,
    ]) {
      await searches(t, lock, 'id=?');
    }
  });

  test('Idempotency records - are found by an index', async (t) => {
    await searches(t, idempotencyTable(t.context.engine).statements.byIds([]), 'id=?');
  });

  test('Checks within a transaction - are one index search', async (t) => {
    const { engine } = t.context;
    await searches(t, orderTable(engine).statements.open, 'pet_id=? AND complete=?');
    await searches(t, orderTable(engine).statements.openUnits, 'pet_id=? AND complete=?');
    await searches(t, petTable(engine).statements.inCategory, 'category_id=?');
  });

  test('Usage - a day and an account are found by an index', async (t) => {
    const { ofDay, ofAccount } = usageTable(t.context.engine).statements;
    await searches(t, ofDay, 'day_index=?');
    await searches(t, ofAccount, 'account_id=? AND day_index>?');
  });
}
