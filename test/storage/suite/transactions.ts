/** Transactions: durable before they resolve, rolled back separately, in order, and cancelled before they begin. */
import type { Store } from '../../../src/schema.ts';
import { type PetId, toCategoryId } from '../../../src/shop/model.ts';
import { Cancelled, StoreUnavailable } from '../../../src/storage/store-errors.ts';
import { aPet } from '../../support/pets.ts';
import { addOne, newCategory, newPet, occupyWriter, test } from './database.ts';

const CATS = { name: 'Cats', description: undefined };

export function transactionTests(): void {
  test('Transaction - another process sees its changes once it has resolved', async (t) => {
    const { store, openAgain } = t.context;
    const other = await openAgain();
    for (let round = 0; round < 20; round += 1) {
      const ids = await Promise.all(Array.from({ length: 10 }, () => newCategory(store)));
      const found = await Promise.all(ids.map((id) => other.categories.find(id)));
      t.deepEqual(
        found.map((category) => category?.id),
        ids,
      );
    }
  });

  test('Transaction - nothing else sees its changes before it has resolved', async (t) => {
    const { store, openAgain } = t.context;
    const other = await openAgain();
    const id = await store.transaction(async (tx) => {
      const inserted = await tx.categories.insert(CATS);
      t.deepEqual(await tx.categories.lock(inserted.id), inserted);
      t.is(await store.categories.find(inserted.id), undefined);
      t.is(await other.categories.find(inserted.id), undefined);
      return inserted.id;
    });
    t.is((await store.categories.find(id))?.id, id);
  });

  test('Transaction - an error of its work rolls it back and is thrown unchanged', async (t) => {
    const { store } = t.context;
    const thrown = new Error('changed my mind');
    let id = toCategoryId(0n);
    const work = store.transaction(async (tx) => {
      ({ id } = await tx.categories.insert(CATS));
      throw thrown;
    });
    await t.throwsAsync(work, { is: thrown });
    t.is(await store.categories.find(id), undefined);
  });

  test('Transaction - a failure in a group rolls back only its own transaction', async (t) => {
    const { store } = t.context;
    const writer = await occupyWriter(t);
    const works = Array.from({ length: 30 }, (_, index) =>
      store.transaction(async (tx) => {
        const { id } = await tx.categories.insert(CATS);
        if (index % 3 === 0) throw new Error(`no ${index}`);
        if (index % 3 === 1) await tx.pets.insert(aPet({ name: 'Tom', categoryId: id, status: 'sold' }));
        return id;
      }),
    );
    const settled = Promise.allSettled(works);
    await writer.release();
    for (const [index, result] of (await settled).entries()) {
      if (index % 3 === 0) t.is(result.status === 'rejected' && result.reason.message, `no ${index}`);
      else t.truthy(result.status === 'fulfilled' && (await store.categories.find(result.value)));
    }
    t.is((await store.categories.page({ after: 0n, limit: 100 })).rows.length, 20);
    t.is((await store.pets.page({ after: 0n, limit: 100 })).rows.length, 10);
  });

  test('Transaction - a statement that the database refuses rolls back only its own transaction', async (t) => {
    const { store } = t.context;
    const { categoryId } = await newPet(store);
    const writer = await occupyWriter(t);
    const [good, bad, later] = [
      newCategory(store),
      store.transaction(async (tx) => {
        await tx.categories.insert(CATS);
        await tx.categories.delete(categoryId);
      }),
      newCategory(store),
    ];
    const failed = t.throwsAsync(bad);
    await writer.release();
    await failed;
    const ids = [categoryId, await good, await later].sort((one, another) => Number(one - another));
    t.deepEqual(
      (await store.categories.page({ after: 0n, limit: 100 })).rows.map(({ id }) => id),
      ids,
    );
  });

  test('Transaction - each sees the changes of the earlier ones', async (t) => {
    const { store } = t.context;
    const { id } = await newPet(store);
    const counts = await Promise.all(Array.from({ length: 300 }, () => addOne(store, id)));
    t.deepEqual(
      counts.toSorted((one, other) => one - other),
      Array.from({ length: 300 }, (_, index) => index),
    );
    t.is((await store.pets.find(id))?.quantity, 300);
  });

  test('Transaction - more than fit in one commit all succeed', async (t) => {
    const { store } = t.context;
    const writer = await occupyWriter(t);
    const waiting = Promise.all(Array.from({ length: 1_000 }, () => newCategory(store)));
    await writer.release();
    t.is(new Set(await waiting).size, 1_000);
  });

  test('Transaction - work that is cancelled before its turn does not run', async (t) => {
    const { store } = t.context;
    const writer = await occupyWriter(t);
    let isCancelled = false;
    let hasBegun = false;
    const cancelled = store.forCall({ isCancelled: () => isCancelled }).transaction(async (tx) => {
      hasBegun = true;
      await tx.categories.insert(CATS);
    });
    const refused = t.throwsAsync(cancelled, { instanceOf: Cancelled });
    const kept = newCategory(store);
    isCancelled = true;
    await writer.release();
    await refused;
    const keptId = await kept;
    t.false(hasBegun);
    t.is((await store.categories.page({ after: 0n, limit: 100 })).rows.length, 1);
    t.truthy(await store.categories.find(keptId));
  });

  test('Transaction - work that has begun completes even if it is cancelled', async (t) => {
    const { store } = t.context;
    let isCancelled = false;
    const { id } = await store.forCall({ isCancelled: () => isCancelled }).transaction((tx) => {
      isCancelled = true;
      return tx.categories.insert(CATS);
    });
    t.truthy(await store.categories.find(id));
  });

  test('Close - waits for queued work, whose changes are durable', async (t) => {
    const { store, openAgain } = t.context;
    const writer = await occupyWriter(t);
    const queued = Promise.all(Array.from({ length: 50 }, () => newCategory(store)));
    const closed = store.close();
    await writer.release();
    const ids = await queued;
    await closed;
    const again = await openAgain();
    for (const id of ids) t.truthy(await again.categories.find(id));
  });

  test('Close - new work is refused', async (t) => {
    const { store } = t.context;
    const writer = await occupyWriter(t);
    const closed = store.close();
    await t.throwsAsync(newCategory(store), { instanceOf: StoreUnavailable, message: 'the store is closed' });
    await writer.release();
    await closed;
    await t.throwsAsync(newCategory(store), { instanceOf: StoreUnavailable, message: 'the store is closed' });
  });

  // Serial, as in failures.ts: SQLite waits for a locked file in one of Node's few threads, which other tests need.
  test.serial('Transactions - of two processes lose no update', async (t) => {
    const { store, openAgain } = t.context;
    const stores = [store, await openAgain()];
    const { id } = await newPet(store);
    await Promise.all(Array.from({ length: 60 }, (_, index) => addOne(stores[index % 2] ?? store, id)));
    t.is((await store.pets.find(id))?.quantity, 60);
  });

  test.serial('Transactions - of two processes that lock the same rows in opposite order both succeed', async (t) => {
    const { store, openAgain } = t.context;
    const other = await openAgain();
    const [one, two] = [await newPet(store), await newPet(store)];
    const addToBoth = (where: Store, ids: readonly PetId[]) =>
      where.transaction(async (tx) => {
        for (const id of ids) {
          const pet = await tx.pets.lock(id);
          if (pet !== undefined) await tx.pets.update({ ...pet, quantity: pet.quantity + 1 });
        }
      });
    for (let round = 0; round < 3; round += 1) {
      await Promise.all([addToBoth(store, [one.id, two.id]), addToBoth(other, [two.id, one.id])]);
    }
    t.is((await store.pets.find(one.id))?.quantity, 6);
    t.is((await store.pets.find(two.id))?.quantity, 6);
  });
}
