/** Every read uses an index, in the order of that index, and never scans a table. */
import anyTest, { type TestFn } from 'ava';
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

/** Statements, and the columns by which each must search: in one way, or in one of several. */
type Searches = readonly (readonly [Statement, ...string[]])[];

function searching(title: string, searches: (engine: Engine) => Searches): void {
  test(title, async (t) => {
    for (const [statement, ...columns] of searches(t.context.engine)) {
      const found = await t.context.searched(statement, VALUES);
      t.true(columns.includes(found), `${statement.name}: ${found}`);
    }
  });
}

export function runPlanSuite(createPlanner: () => Promise<Planner>): void {
  test.before(async (t) => {
    t.context = await createPlanner();
  });
  test.after.always((t) => t.context.close());

  searching('Pages of pets - every combination of filters starts where the last page ended', (engine) => {
    const { page } = petTable(engine).statements;
    return [
      [page([]), 'id>?'],
      [page(['status']), 'status=? AND id>?'],
      [page(['category_id']), 'category_id=? AND id>?'],
      [page(['category_id', 'status']), 'category_id=? AND status=? AND id>?'],
    ];
  });
  searching('Pages - of other lists start where the last page ended, with every combination of filters', (engine) => {
    const { page } = orderTable(engine).statements;
    return [
      [page([]), 'id>?'],
      [page(['pet_id']), 'pet_id=? AND id>?'],
      [page(['complete']), 'complete=? AND id>?'],
      [page(['pet_id', 'complete']), 'pet_id=? AND complete=? AND id>?'],
      [categoryTable(engine).statements.page([]), 'id>?'],
      [accountTable(engine).statements.page([]), 'id>?'],
      [keyTable(engine).statements.page(['account_id']), 'account_id=? AND id>?'],
    ];
  });
  searching('Look-ups - are one index search, with any other filters', (engine) => {
    const { byIds } = petTable(engine).statements;
    const all = ['id=?', 'category_id=? AND status=?', 'category_id=? AND status=? AND id=?'];
    return [
      [byIds([]), 'id=?'],
      [byIds(['status']), 'id=?', 'status=? AND id=?'],
      [byIds(['category_id']), 'id=?', 'category_id=? AND id=?'],
      [byIds(['category_id', 'status']), ...all],
      [categoryTable(engine).statements.byIds([]), 'id=?'],
      [orderTable(engine).statements.byIds([]), 'id=?'],
      [accountTable(engine).statements.byIds([]), 'id=?'],
      [idempotencyTable(engine).statements.byIds([]), 'id=?'],
      [accountTable(engine).statements.keyByHash, 'hash=?'],
      [usageTable(engine).statements.ofDay, 'day_index=?'],
      [usageTable(engine).statements.ofAccount, 'account_id=? AND day_index>?'],
    ];
  });
  searching('Transactions - their locks and checks are one index search', (engine) => [
    [categoryTable(engine).statements.lock, 'id=?'],
    [orderTable(engine).statements.lock, 'id=?'],
    [petTable(engine).statements.lock, 'id=?'],
    [orderTable(engine).statements.open, 'pet_id=? AND complete=?'],
    [orderTable(engine).statements.openUnits, 'pet_id=? AND complete=?'],
    [petTable(engine).statements.inCategory, 'category_id=?'],
  ]);
}
