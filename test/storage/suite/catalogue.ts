/** Categories, pets and orders: what is written is what is read. */
import { type Order, toCategoryId, toOrderId, toPetId } from '../../../src/shop/model.ts';
import { aPet } from '../../support/pets.ts';
import { newCategory, newPet, test } from './database.ts';

/** Ids that do not exist. */
const MISSING = [0n, -1n, 999_999n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)];
const TEXTS = [
  'a',
  '',
  ' ',
  "Robert'); DROP TABLE pets;--",
  '\x01\x1a\x7f\u0085\u2028\ufffe',
  'Grüße 猫 😀',
  '"quoted"',
  'x'.repeat(2_000),
];
const EMPTY_ORDER = { petId: undefined, quantity: 1, shipDate: undefined, complete: false };

export function catalogueTests(): void {
  test('Categories - are returned as inserted, with any text and without a description', async (t) => {
    const { store } = t.context;
    for (const text of TEXTS) {
      for (const description of [text, undefined]) {
        const category = await store.transaction((tx) => tx.categories.insert({ name: text, description }));
        t.deepEqual(category, { id: category.id, name: text, description });
        t.deepEqual(await store.categories.find(category.id), category);
      }
    }
  });

  test('Categories - an update stores every field, also an absent description', async (t) => {
    const { store } = t.context;
    const id = await newCategory(store);
    for (const changed of [
      { id, name: 'Dogs', description: 'They bark.' },
      { id, name: 'Birds', description: undefined },
    ]) {
      await store.transaction((tx) => tx.categories.update(changed));
      t.deepEqual(await store.categories.find(id), changed);
      t.deepEqual(await store.transaction((tx) => tx.categories.lock(id)), changed);
    }
  });

  test('Categories - a deleted one is gone, others stay', async (t) => {
    const { store } = t.context;
    const [gone, stays] = [await newCategory(store), await newCategory(store)];
    await store.transaction((tx) => tx.categories.delete(gone));
    t.is(await store.categories.find(gone), undefined);
    t.is((await store.categories.find(stays))?.id, stays);
  });

  test('Pets - a name can be any text', async (t) => {
    const { store } = t.context;
    const categoryId = await newCategory(store);
    for (const name of TEXTS) {
      const pet = await store.transaction((tx) => tx.pets.insert(aPet({ name, categoryId, status: 'sold' })));
      t.is(pet?.name, name);
      t.deepEqual(await store.pets.find(pet?.id ?? toPetId(0n)), pet);
    }
  });

  test('Pets - start without stock, and are returned as inserted', async (t) => {
    const { store } = t.context;
    const categoryId = await newCategory(store);
    for (const status of ['available', 'pending', 'sold'] as const) {
      const pet = await store.transaction((tx) => tx.pets.insert(aPet({ name: 'Tom', categoryId, status })));
      t.like(pet, { name: 'Tom', categoryId, status, quantity: 0 });
      t.deepEqual(await store.pets.find(pet?.id ?? toPetId(0n)), pet);
    }
  });

  test('Pets - an insert with an unknown category inserts nothing', async (t) => {
    const { store } = t.context;
    for (const categoryId of MISSING.map(toCategoryId)) {
      t.is(
        await store.transaction((tx) => tx.pets.insert(aPet({ name: 'Tom', categoryId, status: 'sold' }))),
        undefined,
      );
    }
    t.deepEqual((await store.pets.page({ after: 0n, limit: 1 })).rows, []);
  });

  test('Pets - an update stores every field', async (t) => {
    const { store } = t.context;
    const pet = await newPet(store);
    const categoryId = await newCategory(store, 'Dogs');
    const changed = { ...pet, name: 'Rex', categoryId, status: 'sold', quantity: 1_000_000_000 } as const;
    t.true(await store.transaction((tx) => tx.pets.update(changed)));
    t.deepEqual(await store.pets.find(pet.id), changed);
    t.deepEqual(await store.transaction((tx) => tx.pets.lock(pet.id)), changed);
  });

  test('Pets - an update to an unknown category changes nothing and returns false', async (t) => {
    const { store } = t.context;
    const pet = await newPet(store);
    for (const categoryId of MISSING.map(toCategoryId)) {
      t.false(await store.transaction((tx) => tx.pets.update({ ...pet, name: 'Rex', categoryId })));
    }
    t.deepEqual(await store.pets.find(pet.id), pet);
  });

  test('Pets - a deleted pet is gone, and its category can be deleted', async (t) => {
    const { store } = t.context;
    const { id, categoryId } = await newPet(store);
    t.true(await store.transaction((tx) => tx.pets.existsInCategory(categoryId)));
    await store.transaction((tx) => tx.pets.delete(id));
    t.is(await store.pets.find(id), undefined);
    t.false(await store.transaction((tx) => tx.pets.existsInCategory(categoryId)));
    await store.transaction((tx) => tx.categories.delete(categoryId));
    t.is(await store.categories.find(categoryId), undefined);
  });

  test('Pets - the database refuses to delete a category with a pet', async (t) => {
    const { store } = t.context;
    const { id, categoryId } = await newPet(store);
    await t.throwsAsync(store.transaction((tx) => tx.categories.delete(categoryId)));
    t.is((await store.categories.find(categoryId))?.id, categoryId);
    t.is((await store.pets.find(id))?.id, id);
  });

  test('Pets - the database refuses a negative stock', async (t) => {
    const { store } = t.context;
    const pet = await newPet(store, { quantity: 1 });
    await t.throwsAsync(store.transaction((tx) => tx.pets.update({ ...pet, quantity: -1 })));
    t.is((await store.pets.find(pet.id))?.quantity, 1);
  });

  test('Orders - are returned as inserted, with all fields or none', async (t) => {
    const { store } = t.context;
    const { id: petId } = await newPet(store);
    const instants = [
      { seconds: -62_135_596_800n, nanos: 0 },
      { seconds: -1n, nanos: 999_999_999 },
      { seconds: 0n, nanos: 0 },
      { seconds: 253_402_300_799n, nanos: 999_999_999 },
    ];
    const orders: Omit<Order, 'id'>[] = [
      EMPTY_ORDER,
      ...instants.map((shipDate) => ({ petId, quantity: 1_000_000, shipDate, complete: true })),
    ];
    for (const fields of orders) {
      const order = await store.transaction((tx) => tx.orders.insert(fields));
      t.deepEqual(order, { id: order.id, ...fields });
      t.deepEqual(await store.orders.find(order.id), order);
    }
  });

  test('Orders - an update stores every field but the pet', async (t) => {
    const { store } = t.context;
    const { id: petId } = await newPet(store);
    const order = await store.transaction((tx) => tx.orders.insert({ ...EMPTY_ORDER, petId }));
    const changed = { ...order, quantity: 7, shipDate: { seconds: 1n, nanos: 2 }, complete: true };
    await store.transaction((tx) => tx.orders.update({ ...changed, petId: toPetId(999n) }));
    t.deepEqual(await store.orders.find(order.id), changed);
    t.deepEqual(await store.transaction((tx) => tx.orders.lock(order.id)), changed);
  });

  test('Orders - a deleted one is gone', async (t) => {
    const { store } = t.context;
    const { id } = await store.transaction((tx) => tx.orders.insert(EMPTY_ORDER));
    await store.transaction((tx) => tx.orders.delete(id));
    t.is(await store.orders.find(id), undefined);
  });

  test('Orders - complete orders stay when their pet is deleted', async (t) => {
    const { store } = t.context;
    const { id: petId } = await newPet(store);
    const order = await store.transaction((tx) => tx.orders.insert({ ...EMPTY_ORDER, petId, complete: true }));
    await store.transaction((tx) => tx.pets.delete(petId));
    t.deepEqual(await store.orders.find(order.id), order);
  });

  test('Orders - the open units of a pet are the sum of its incomplete orders, also beyond 32 bits', async (t) => {
    const { store } = t.context;
    const { id: petId } = await newPet(store);
    const { id: otherId } = await newPet(store);
    await store.transaction(async (tx) => {
      t.is(await tx.orders.openUnits(petId), 0);
      const order = { petId, quantity: 2_000_000_000, shipDate: undefined, complete: false };
      for (let count = 0; count < 3; count += 1) await tx.orders.insert(order);
      await tx.orders.insert({ ...order, complete: true });
      await tx.orders.insert({ ...order, petId: otherId });
      t.is(await tx.orders.openUnits(petId), 6_000_000_000);
    });
  });

  test('Orders - a pet has open orders while any but the excluded one is incomplete', async (t) => {
    const { store } = t.context;
    const { id: petId } = await newPet(store);
    await store.transaction(async (tx) => {
      t.false(await tx.orders.hasOpen(petId));
      await tx.orders.insert({ ...EMPTY_ORDER, petId, complete: true });
      await tx.orders.insert(EMPTY_ORDER);
      t.false(await tx.orders.hasOpen(petId));
      const first = await tx.orders.insert({ ...EMPTY_ORDER, petId });
      t.true(await tx.orders.hasOpen(petId));
      t.false(await tx.orders.hasOpen(petId, first.id));
      const second = await tx.orders.insert({ ...EMPTY_ORDER, petId });
      t.true(await tx.orders.hasOpen(petId, first.id));
      await tx.orders.update({ ...second, complete: true });
      t.false(await tx.orders.hasOpen(petId, first.id));
    });
  });

  test('Ids - an unknown id finds nothing, however large, negative or zero', async (t) => {
    const { store } = t.context;
    await newPet(store);
    await store.transaction((tx) => tx.orders.insert(EMPTY_ORDER));
    for (const id of MISSING) {
      const [petId, categoryId, orderId] = [toPetId(id), toCategoryId(id), toOrderId(id)];
      t.is(await store.pets.find(petId), undefined);
      t.is(await store.categories.find(categoryId), undefined);
      t.is(await store.orders.find(orderId), undefined);
      await store.transaction(async (tx) => {
        t.is(await tx.pets.lock(petId), undefined);
        t.is(await tx.categories.lock(categoryId), undefined);
        t.is(await tx.orders.lock(orderId), undefined);
        t.false(await tx.pets.existsInCategory(categoryId));
        t.false(await tx.orders.hasOpen(petId));
      });
    }
  });

  test('Ids - are never reused, not even after a delete and a restart', async (t) => {
    const { store, openAgain } = t.context;
    const pet = await newPet(store);
    const order = await store.transaction((tx) => tx.orders.insert(EMPTY_ORDER));
    await store.transaction(async (tx) => {
      await tx.orders.delete(order.id);
      await tx.pets.delete(pet.id);
      await tx.categories.delete(pet.categoryId);
    });
    await store.close();
    const again = await openAgain();
    const next = await newPet(again);
    t.true(next.id > pet.id);
    t.true(next.categoryId > pet.categoryId);
    t.true((await again.transaction((tx) => tx.orders.insert(EMPTY_ORDER))).id > order.id);
  });
}
