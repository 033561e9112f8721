/** The events: one for each change of a row, in its transaction, in order. */
import type { Store } from '../../../src/schema.ts';
import { toCategoryId, toPetId } from '../../../src/shop/model.ts';
import { PETS } from '../../../src/shop/pet-table.ts';
import { type StoredEvent, toEventId } from '../../../src/storage/model.ts';
import { aPet } from '../../support/pets.ts';
import { newCategory, test } from './database.ts';

const START = toEventId(0n);

async function eventsOf(store: Store): Promise<readonly StoredEvent[]> {
  return store.events.after(START, 1_000);
}

export function eventTests(): void {
  test('Events - each change of a row stores one, with the row, or what it was before its deletion', async (t) => {
    const { store } = t.context;
    const categoryId = await newCategory(store, 'Cats "and" \u{1f408}');
    const pet = await store.write(({ pets }) => pets.insert(aPet({ name: 'Tom', categoryId, status: 'available' })));
    if (pet === undefined) return t.fail();
    await store.transaction((tx) => tx.pets.update({ ...pet, status: 'sold', quantity: 3 }));
    const shipDate = { seconds: -62_135_596_800n, nanos: 999_999_999 };
    const order = await store.transaction((tx) =>
      tx.orders.insert({ petId: pet.id, quantity: 2, shipDate, complete: true }),
    );
    await store.transaction(async (tx) => {
      await tx.orders.delete(order.id);
      await tx.pets.delete(pet.id);
      await tx.categories.delete(categoryId);
    });
    const events = await eventsOf(store);
    t.deepEqual(
      events.map(({ type }) => type),
      [
        'category.created',
        'pet.created',
        'pet.updated',
        'order.created',
        'order.deleted',
        'pet.deleted',
        'category.deleted',
      ],
    );
    const rows = events.map(({ row }) => JSON.parse(row));
    t.deepEqual(rows[0], { id: 1, name: 'Cats "and" \u{1f408}', description: null });
    t.deepEqual(Object.keys(rows[1]).toSorted(), PETS.columns.toSorted());
    t.deepEqual(PETS.toRecord(rows[1]), pet);
    t.deepEqual(rows[2], { ...rows[1], status: 'sold', quantity: 3 });
    t.deepEqual(rows[5], rows[2]);
    const { complete, ...ship } = rows[3];
    t.true(Boolean(complete));
    t.deepEqual(ship, { id: 1, pet_id: 1, quantity: 2, ship_seconds: -62_135_596_800, ship_nanos: 999_999_999 });
    for (const { timeMs } of events) t.true(Math.abs(timeMs - Date.now()) < 60_000);
  });

  test('Events - a write that changes nothing stores none', async (t) => {
    const { store } = t.context;
    const id = await newCategory(store);
    const before = await eventsOf(store);
    await store.transaction((tx) => tx.categories.update({ id, name: 'Cats', description: undefined }));
    await store.transaction((tx) => tx.categories.delete(toCategoryId(99n)));
    await store.transaction((tx) => tx.pets.delete(toPetId(99n)));
    t.deepEqual(await eventsOf(store), before);
  });

  test('Events - what is rolled back stores none, also in a group', async (t) => {
    const { store } = t.context;
    const works = Array.from({ length: 12 }, (_, index) =>
      store.transaction(async (tx) => {
        const { id } = await tx.categories.insert({ name: `${index}`, description: undefined });
        if (index % 3 === 0) throw new Error('changed my mind');
        return id;
      }),
    );
    const stored = (await Promise.allSettled(works)).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const events = await eventsOf(store);
    t.deepEqual(events.map(({ row }) => BigInt(JSON.parse(row).id)).toSorted(), [...stored].toSorted());
  });

  test('Events - writes that share a statement store one each', async (t) => {
    const { store } = t.context;
    const categoryId = await newCategory(store);
    const insert = (name: string) =>
      store.write(({ pets }) => pets.insert(aPet({ name, categoryId, status: 'available' as const })));
    const pets = await Promise.all(Array.from({ length: 50 }, (_, index) => insert(`pet ${index}`)));
    const events = (await eventsOf(store)).filter(({ type }) => type === 'pet.created');
    const named = new Map(pets.map((pet) => [Number(pet?.id), pet?.name]));
    t.is(events.length, 50);
    for (const { row } of events) t.is(named.get(JSON.parse(row).id), JSON.parse(row).name);
  });

  test('Events - have every column of their table', async (t) => {
    const { store, engine } = t.context;
    const categoryId = await newCategory(store);
    await store.write(({ pets }) => pets.insert(aPet({ name: 'Tom', categoryId, status: 'available' })));
    await store.transaction((tx) =>
      tx.orders.insert({ petId: undefined, quantity: 1, shipDate: undefined, complete: false }),
    );
    const { compile } = await import('../../../src/storage/statement.ts');
    const events = await eventsOf(store);
    for (const [table, kind] of [
      ['categories', 'category'],
      ['pets', 'pet'],
      ['orders', 'order'],
    ] as const) {
      const [row] = await engine.reader.all(compile(`columns.${table}`, engine.knex(table).select('*')), {});
      const event = events.find(({ type }) => type === `${kind}.created`);
      t.deepEqual(Object.keys(JSON.parse(event?.row ?? '{}')).toSorted(), Object.keys(row ?? {}).toSorted(), table);
    }
  });

  test('Events - ids ascend and are never used again; the oldest can be deleted, the newest stays', async (t) => {
    const { store } = t.context;
    for (let index = 0; index < 6; index += 1) await newCategory(store, `${index}`);
    const [first] = await eventsOf(store);
    t.is(await store.write(({ events }) => events.deleteOldest(2, (first?.timeMs ?? 0) + 60_000)), 2);
    t.is(await store.write(({ events }) => events.deleteOldest(100, 0)), 0);
    t.is(await store.write(({ events }) => events.deleteOldest(100, Date.now() + 60_000)), 3);
    t.deepEqual(await store.events.bounds(), { oldest: toEventId(6n), newest: toEventId(6n) });
    await newCategory(store);
    t.deepEqual(
      (await eventsOf(store)).map(({ id }) => id),
      [toEventId(6n), toEventId(7n)],
    );
  });
}
