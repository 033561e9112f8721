/** Every read uses an index, in the order of that index, and never scans a table. */
import anyTest, { type TestFn } from 'ava';
import { accountTable, keyTable } from '../../../src/platform/access/tables/accounts.ts';
import { usageTable } from '../../../src/platform/access/tables/usage.ts';
import { START } from '../../../src/platform/events/stored-event.ts';
import { eventTable } from '../../../src/platform/events/table.ts';
import { toAccountId } from '../../../src/platform/rpc/caller.ts';
import type { Engine, Runner } from '../../../src/platform/storage/engine.ts';
import type { Params, Statement } from '../../../src/platform/storage/statement.ts';
import { integer, table } from '../../../src/platform/tables/fields.ts';
import { idempotencyTable } from '../../../src/platform/tables/idempotency.ts';
import { pages } from '../../../src/platform/tables/pages.ts';
import { orderBy } from '../../../src/platform/tables/sort-order.ts';
import { toCategoryId } from '../../../src/shop/categories/table.ts';
import { orderTable } from '../../../src/shop/orders/table.ts';
import { petTable, toPetId } from '../../../src/shop/pets/table.ts';
import type { Scope } from '../../support/scope.ts';
import { sharing } from '../../support/service/sharing.ts';
import { notingEngine } from './database.ts';

/** Reads a statement's plan from the engine under test. */
export interface Planner {
  readonly engine: Engine;
  /** Resolves with the condition of the one index search, such as `category_id=? AND id>?`, or with other text. */
  searched(statement: Statement, values: Params): Promise<string>;
}

const test = anyTest as TestFn<Planner>;

/** Calls, and the columns by which the statement of each must search. */
type Searches = readonly (readonly [call: Promise<unknown>, columns: string])[];

const PAGE = { after: 0n, limit: 20 };
const [PET, CATEGORY, ACCOUNT] = [toPetId(1n), toCategoryId(1n), toAccountId(1n)];

/** Calls of tables whose engine runs nothing. */
function searches(engine: Engine, tx: Runner): Searches {
  const { page } = petTable(engine).reads;
  const days = table('usage', { account: integer('account_id'), day: integer('day_index') });
  const order = orderBy(days, 'newest', ['account', 'day'], true);
  const newest = pages(engine, days, (columns) => engine.knex('usage').select(columns), order);
  const range = order.range(1, 2);
  const [orders, usage, { events }] = [orderTable(engine), usageTable(engine), { events: eventTable(engine).reads }];
  const { guessesByColumn } = engine;
  const equal = (...columns: string[]) => columns.map((column) => `${column}=? AND `).join('');
  /** By the others, and by the last one as this: `$` stands for its name. */
  const found = (columns: string[], asRange: string, asValue: string) =>
    equal(...columns.slice(0, -1)) + (guessesByColumn ? asRange : asValue).replaceAll('$', columns.at(-1) ?? '');
  const all = (...columns: string[]) => found(columns, '$>? AND $<?', '$=?');
  const after = (...columns: string[]) => found(columns, '$,id>? AND $<?', '$=? AND id>?');
  return [
    [page(PAGE), 'id>?'],
    [page(PAGE, { status: 'available' }), after('status')],
    [page(PAGE, { categoryId: CATEGORY }), after('category_id')],
    [page(PAGE, { categoryId: CATEGORY, status: 'available' }), after('category_id', 'status')],
    [newest({ after: order.start, limit: 20 }), 'account_id,day_index<?'],
    [newest({ ...range, limit: 20 }), 'account_id,day_index>? AND account_id,day_index<?'],
    [events.after({ after: START, limit: 20 }), 'id>?'],
    [events.after({ after: START, limit: 20, types: ['pet.created'] }), 'id>?'],
    [orders.reads.page(PAGE, { petId: PET }), after('pet_id')],
    [orders.reads.page(PAGE, { complete: false }), after('complete')],
    [orders.reads.page(PAGE, { petId: PET, complete: false }), after('pet_id', 'complete')],
    [keyTable(engine).reads.page(PAGE, { accountId: ACCOUNT }), after('account_id')],
    [petTable(engine).reads.findAll([PET, toPetId(2n)]), 'id=?'],
    [idempotencyTable(engine).reads.find('record-1'), 'id=?'],
    [accountTable(engine).reads.findKey(Buffer.alloc(32)), 'hash=?'],
    [usage.reads.ofDay(1), 'day_index=?'],
    [usage.reads.ofAccount(ACCOUNT, 1), 'account_id=? AND day_index>?'],
    [petTable(engine).writes(tx).lock(PET), 'id=?'],
    [petTable(engine).writes(tx).existsInCategory(CATEGORY), all('category_id')],
    [orders.writes(tx).hasOpen(PET), all('pet_id', 'complete')],
    [orders.writes(tx).openUnits(PET), 'pet_id=? AND complete=?'],
  ];
}

export function runPlanSuite(missing: string | undefined, createPlanner: (t: Scope) => Promise<Planner>): void {
  sharing(missing, createPlanner);

  test('Statements - every page, in any order, look-up, lock and check is one index search', async (t) => {
    const { noted, runner, engine } = notingEngine(t.context.engine);
    const calls = searches(engine, runner);
    await Promise.allSettled(calls.map(([call]) => call));
    t.is(noted.length, calls.length);
    for (const [index, [statement, params]] of noted.entries()) {
      t.is(await t.context.searched(statement, params), calls[index]?.[1] ?? '', statement.name);
    }
  });
}
