/** Every read uses an index, in the order of that index, and never scans a table. */
import anyTest, { type TestFn } from 'ava';
import { accountTable, keyTable } from '../../../src/access/tables/accounts.ts';
import { usageTable } from '../../../src/access/tables/usage.ts';
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
  searching('Statements - every other page, look-up, lock and check is one index search', (engine) => {
    const [pets, orders] = [petTable(engine).statements, orderTable(engine).statements];
    const [accounts, usage] = [accountTable(engine).statements, usageTable(engine).statements];
    const both = ['category_id=? AND status=?', 'category_id=? AND status=? AND id=?'];
    return [
      [orders.page(['pet_id']), 'pet_id=? AND id>?'],
      [orders.page(['complete']), 'complete=? AND id>?'],
      [orders.page(['pet_id', 'complete']), 'pet_id=? AND complete=? AND id>?'],
      [keyTable(engine).statements.page(['account_id']), 'account_id=? AND id>?'],
      [pets.byIds([]), 'id=?'],
      [pets.byIds(['status']), 'id=?', 'status=? AND id=?'],
      [pets.byIds(['category_id']), 'id=?', 'category_id=? AND id=?'],
      [pets.byIds(['category_id', 'status']), 'id=?', ...both],
      [idempotencyTable(engine).statements.byIds([]), 'id=?'],
      [accounts.keyByHash, 'hash=?'],
      [usage.ofDay, 'day_index=?'],
      [usage.ofAccount, 'account_id=? AND day_index>?'],
      [pets.lock, 'id=?'],
      [pets.inCategory, 'category_id=?'],
      [orders.open, 'pet_id=? AND complete=?'],
      [orders.openUnits, 'pet_id=? AND complete=?'],
    ];
  });
}
