/** Idempotency records: stored exactly when their write is, and one per id. */
import { randomBytes } from 'node:crypto';
import type { Store } from '../../../src/schema.ts';
import type { Category } from '../../../src/shop/model.ts';
import type { IdempotencyRecord, Remember } from '../../../src/storage/model.ts';
import { AlreadyDone } from '../../../src/storage/store-errors.ts';
import { newCategory, test } from './database.ts';

const NOW_MS = Date.UTC(2026, 6, 1);
const CATS = { name: 'Cats', description: undefined };

function newRecord(fields: Partial<IdempotencyRecord> = {}): IdempotencyRecord {
  const id = randomBytes(32).toString('base64url');
  return { id, requestDigest: randomBytes(32), response: randomBytes(60), createdAtMs: NOW_MS, ...fields };
}

/** Creates a category and stores the record of `remember` with it. */
function createCategory(store: Store, how: 'write' | 'transaction', remember: Remember): Promise<Category> {
  return store.forCall({ isCancelled: () => false, remember })[how](({ categories }) => categories.insert(CATS));
}

function create(store: Store, record: IdempotencyRecord, how: 'write' | 'transaction' = 'write') {
  return createCategory(store, how, () => record);
}

async function countCategories(store: Store): Promise<number> {
  return (await store.categories.page({ after: 0n, limit: 1_000 })).rows.length;
}

export function idempotencyTests(): void {
  test('Idempotency records - are returned as written, in any process', async (t) => {
    const { store, openAgain } = t.context;
    const other = await openAgain();
    const records = [
      newRecord(),
      newRecord({ id: `-_${'A9z'.repeat(13)}--` }),
      newRecord({ response: Buffer.alloc(0), requestDigest: Buffer.alloc(32) }),
      newRecord({ response: Buffer.from('nul \0 and \x1a0'), createdAtMs: 2 ** 45 }),
    ];
    for (const record of records) await create(store, record);
    for (const { find } of [store.idempotency, other.idempotency]) {
      t.deepEqual(await Promise.all(records.map(({ id }) => find(id))), records);
      t.is(await find('unknown'), undefined);
    }
  });

  for (const how of ['write', 'transaction'] as const) {
    test(`Idempotency records - the record of a ${how} has its result, and is as durable`, async (t) => {
      const { store, openAgain } = t.context;
      const record = newRecord();
      const created = await createCategory(store, how, (category) => ({
        ...record,
        response: Buffer.from(String((category as Category).id)),
      }));
      await store.close();
      const again = await openAgain();
      t.deepEqual((await again.idempotency.find(record.id))?.response, Buffer.from(String(created.id)));
      t.truthy(await again.categories.find(created.id));
    });

    test(`Idempotency records - a failed ${how} stores none, and the id stays free`, async (t) => {
      const { store } = t.context;
      const record = newRecord();
      const refused = store.forCall({ isCancelled: () => false, remember: () => record })[how](async (tx) => {
        await tx.categories.insert(CATS);
        throw new Error('refused');
      });
      await t.throwsAsync(refused, { message: 'refused' });
      t.is(await store.idempotency.find(record.id), undefined);
      t.is(await countCategories(store), 0);
      await create(store, record, how);
      t.is(await countCategories(store), 1);
    });

    test(`Idempotency records - a ${how} with an existing id is rolled back with AlreadyDone`, async (t) => {
      const { store, openAgain } = t.context;
      const other = await openAgain();
      const record = newRecord();
      await create(store, record, how);
      for (const late of [store, other]) {
        const second = create(late, { ...record, response: Buffer.from('second') }, how);
        await t.throwsAsync(second, { instanceOf: AlreadyDone });
      }
      t.is(await countCategories(store), 1);
      t.deepEqual(await store.idempotency.find(record.id), record);
    });
  }

  // Serial: on SQLite a process that waits for another occupies one of Node's four threads for files.
  test.serial(
    'Idempotency records - of many concurrent writes with one id, in two processes, one succeeds',
    async (t) => {
      const { store, openAgain } = t.context;
      const stores = [store, await openAgain()];
      for (let round = 0; round < 5; round += 1) {
        const { id } = newRecord();
        const before = await countCategories(store);
        const works = Array.from({ length: 8 }, (_, index) =>
          create(stores[index % 2] ?? store, newRecord({ id, response: Buffer.from(String(index)) })),
        );
        const settled = await Promise.allSettled(works);
        const winner = settled.findIndex(({ status }) => status === 'fulfilled');
        for (const [index, result] of settled.entries()) {
          if (index !== winner) t.true(result.status === 'rejected' && result.reason instanceof AlreadyDone);
        }
        t.deepEqual((await store.idempotency.find(id))?.response, Buffer.from(String(winner)));
        t.is(await countCategories(store), before + 1);
      }
    },
  );

  test.serial(
    'Idempotency records - an insert waits for another with the same id, and succeeds if that fails',
    async (t) => {
      const { store, openAgain } = t.context;
      const other = await openAgain();
      const record = newRecord();
      const [inserted, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const first = store.transaction(async (tx) => {
        await tx.idempotency.insert(record);
        inserted.resolve();
        await end.promise;
        throw new Error('refused');
      });
      await inserted.promise;
      const second = create(other, record);
      end.resolve();
      await t.throwsAsync(first, { message: 'refused' });
      t.truthy(await second);
      t.deepEqual(await store.idempotency.find(record.id), record);
    },
  );

  test('Idempotency records - a limited number of the oldest is deleted, and no recent one', async (t) => {
    const { store } = t.context;
    const old = Array.from({ length: 7 }, (_, index) => newRecord({ createdAtMs: NOW_MS - 1 - index }));
    const young = newRecord();
    for (const record of [...old, young]) await create(store, record);
    const deleteOldest = (count: number) => store.write((tx) => tx.idempotency.deleteOldest(count, NOW_MS));
    const deleted = [];
    for (let portion = 0; portion < 4; portion += 1) deleted.push(await deleteOldest(3));
    t.deepEqual(deleted, [3, 3, 1, 0]);
    for (const { id } of old) t.is(await store.idempotency.find(id), undefined);
    t.deepEqual(await store.idempotency.find(young.id), young);
    t.is(await countCategories(store), 8, 'their categories stay');
  });

  test('Idempotency records - a write without a record stores none', async (t) => {
    const { store } = t.context;
    await newCategory(store);
    t.is(await store.write((tx) => tx.idempotency.deleteOldest(10, Number.MAX_SAFE_INTEGER)), 0);
  });
}
