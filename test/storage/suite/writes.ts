/** Writes of a single statement: as durable and isolated as transactions, also in a batch. */
import { toCategoryId, toPetId } from '../../../src/shop/model.ts';
import { Cancelled } from '../../../src/storage/store-errors.ts';
import { aPet } from '../../support/pets.ts';
import { addOne, newCategory, newPet, occupyWriter, test } from './database.ts';

const CATS = { name: 'Cats', description: undefined };

export function writeTests(): void {
  test('Write - inserts in one batch each get their own row or error', async (t) => {
    const { store } = t.context;
    const categoryIds = [
      await newCategory(store),
      await newCategory(store),
      ...[999_999n, 2n ** 53n + 1n].map(toCategoryId),
    ];
    const wanted = Array.from({ length: 600 }, (_, index) =>
      aPet({
        name: `Pet ${index % 7}`,
        categoryId: categoryIds[(index * index) % 5] ?? toCategoryId(0n),
        status: index % 3 === 0 ? 'sold' : 'available',
      }),
    );
    const writer = await occupyWriter(t);
    const inserting = Promise.all(wanted.map((pet) => store.write((tx) => tx.pets.insert(pet))));
    await writer.release();
    const inserted = await inserting;
    for (const [index, pet] of wanted.entries()) {
      const made = inserted[index];
      const exists = categoryIds.slice(0, 2).includes(pet.categoryId);
      t.deepEqual(made, exists ? { ...pet, id: made?.id ?? toPetId(0n), quantity: 0 } : undefined, `${index}`);
      if (made !== undefined) t.deepEqual(await store.pets.find(made.id), made);
    }
    const ids = inserted.flatMap((pet) => (pet === undefined ? [] : [pet.id]));
    t.is(new Set(ids).size, ids.length);
  });

  test('Write - a refused insert does not fail the others in its batch', async (t) => {
    const { store } = t.context;
    const categoryId = await newCategory(store);
    const writer = await occupyWriter(t);
    const inserting = Promise.allSettled(
      Array.from({ length: 9 }, (_, index) => {
        const status = (index === 4 ? 'lost' : 'sold') as 'sold';
        return store.write((tx) => tx.pets.insert(aPet({ name: `Pet ${index}`, categoryId, status })));
      }),
    );
    await writer.release();
    for (const [index, result] of (await inserting).entries()) {
      if (index === 4) t.is(result.status, 'rejected');
      else t.is(result.status === 'fulfilled' && result.value?.name, `Pet ${index}`);
    }
    t.is((await store.pets.page({ after: 0n, limit: 100 })).rows.length, 8);
  });

  test('Write - is durable and visible to another process once it has resolved', async (t) => {
    const { store, openAgain } = t.context;
    const other = await openAgain();
    const { id } = await store.write((tx) => tx.categories.insert(CATS));
    t.is((await other.categories.find(id))?.id, id);
  });

  test('Write - one refused by the database rolls back only itself in its group', async (t) => {
    const { store } = t.context;
    const { id } = await newPet(store);
    const { categoryId } = await newPet(store);
    const writer = await occupyWriter(t);
    const works = Array.from({ length: 30 }, (_, index) => {
      if (index % 3 === 0) return store.write((tx) => tx.categories.delete(categoryId)); // the pet is in it
      return index % 3 === 1 ? store.write((tx) => tx.categories.insert(CATS)) : addOne(store, id);
    });
    const settled = Promise.allSettled(works);
    await writer.release();
    const statuses = (await settled).map(({ status }) => status);
    t.deepEqual(
      statuses,
      statuses.map((_, index) => (index % 3 === 0 ? 'rejected' : 'fulfilled')),
    );
    t.is((await store.pets.find(id))?.quantity, 10);
    t.is((await store.categories.page({ after: 0n, limit: 100 })).rows.length, 12);
  });

  test('Write - stays when a refused write and a failing transaction follow in its group', async (t) => {
    const { store } = t.context;
    const { categoryId } = await newPet(store);
    const writer = await occupyWriter(t);
    const works = [
      store.write((tx) => tx.categories.insert(CATS)),
      store.write((tx) => tx.categories.delete(categoryId)), // the pet is in it
      store.transaction(async (tx) => {
        await tx.categories.insert(CATS);
        throw new Error('its own');
      }),
    ];
    const settled = Promise.allSettled(works);
    await writer.release();
    t.deepEqual(
      (await settled).map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected'],
    );
    t.is((await store.categories.page({ after: 0n, limit: 100 })).rows.length, 2);
  });

  test('Write - a statement that is cancelled before its turn does not run', async (t) => {
    const { store } = t.context;
    let isCancelled = false;
    const writer = await occupyWriter(t);
    const cancelled = store.forCall({ isCancelled: () => isCancelled }).write((tx) => tx.categories.insert(CATS));
    const refused = t.throwsAsync(cancelled, { instanceOf: Cancelled });
    isCancelled = true;
    await writer.release();
    await refused;
    t.is((await store.categories.page({ after: 0n, limit: 100 })).rows.length, 0);
  });

  test('Write - a second statement is refused, since it would be a transaction of its own', async (t) => {
    const { store } = t.context;
    const second = store.write(async ({ categories }) => {
      await categories.insert(CATS);
      await categories.insert(CATS);
    });
    await t.throwsAsync(second, { message: /^categories.insert is the second statement of a write/ });
    t.is((await store.categories.page({ after: 0n, limit: 100 })).rows.length, 1);
  });

  test("Write - a pet's insert and its category's deletion never leave a pet without a category", async (t) => {
    const { store, openAgain } = t.context;
    const other = await openAgain();
    for (let round = 0; round < 40; round += 1) {
      const categoryId = await newCategory(store);
      const fields = { name: 'Tom', categoryId, status: 'available' } as const;
      const [pet, isDeleted] = await Promise.all([
        store.write((tx) => tx.pets.insert(aPet(fields))),
        other.transaction(async (tx) => {
          await tx.categories.lock(categoryId);
          if (await tx.pets.existsInCategory(categoryId)) return false;
          await tx.categories.delete(categoryId);
          return true;
        }),
      ]);
      t.is(pet === undefined, isDeleted);
    }
  });
}
