import { compile } from '../../src/platform/storage/statement.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import { createTestDatabase } from '../support/machine/database.ts';
import { newCategories, newCategory, test } from './suite/database.ts';
import { runStorageSuite } from './suite/suite.ts';

runStorageSuite(createTestDatabase);

test('Group - when one of its writes finds the database unavailable all fail, and nothing is stored', async (t) => {
  const { store, engine } = t.context;
  const reason = new StoreUnavailable('the disk is full');
  const unavailable = engine.write.bind(engine, async (tx) => {
    await tx.all(compile('end', engine.knex.raw('ROLLBACK')), {}); // so does SQLite then
    throw reason;
  });
  const first = [newCategory(store), newCategories(store, 2)];
  const batch = [newCategory(store), engine.write(() => Promise.reject(new Error('refused'))), unavailable()];
  const outcomes = await Promise.allSettled([...first, ...batch]);
  t.deepEqual(outcomes, Array(5).fill({ status: 'rejected', reason }));
  const id = await newCategory(store);
  t.like((await store.categories.page({ after: 0n, limit: 100 })).rows, { length: 1, 0: { id } });
});

test('Statements - two of one name that run at the same time have rows of their own', async (t) => {
  const { store, engine } = t.context;
  await newCategory(store);
  const after = (id: number) => () => engine.knex('categories').select('id').where('id', '>', id);
  const statements = [0, 1_000].map((id) => engine.compilePage('same', ['id'], after(id)));
  const found = await Promise.all(statements.map((statement) => engine.reader.all(statement, {})));
  t.deepEqual(
    found.map((rows) => rows.length),
    [1, 0],
  );
});
