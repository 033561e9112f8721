/** Look-ups by id, many at a time. */
import { toCategoryId } from '../../../src/shop/model.ts';
import { startLoad } from '../../support/load.ts';
import { newCategory, newPet, test } from './database.ts';

export function lookupTests(): void {
  test('Look-ups - thousands of concurrent ones each get their own row, or none', async (t) => {
    const { store } = t.context;
    const ids = await Promise.all(Array.from({ length: 700 }, (_, index) => newCategory(store, `Kind ${index}`)));
    const wanted = Array.from({ length: 3_000 }, (_, index) => ids[(index * 7) % 900] ?? toCategoryId(BigInt(-index)));
    const found = await Promise.all(wanted.map((id) => store.categories.find(id)));
    for (const [index, id] of wanted.entries()) {
      const expected = id > 0n ? `Kind ${ids.indexOf(id)}` : undefined;
      if (found[index]?.name !== expected) t.fail(`look-up of ${id} got ${found[index]?.name}`);
    }
    t.pass();
  });

  test('Look-ups - always see earlier writes', async (t) => {
    const { store } = t.context;
    const pet = await newPet(store);
    // Keeps the look-up busy all the time.
    const load = startLoad(20, async () => ((await store.pets.find(pet.id)) === undefined ? 'missing' : 'found'), {
      pauseMs: 0,
    });
    for (let quantity = 1; quantity <= 100; quantity += 1) {
      await store.transaction((tx) => tx.pets.update({ ...pet, quantity }));
      t.is((await store.pets.find(pet.id))?.quantity, quantity);
    }
    await load.stop();
    t.deepEqual([...load.answers.keys()], ['found']);
  });

  test('Look-ups - a deleted row is not found', async (t) => {
    const { store } = t.context;
    for (let round = 0; round < 30; round += 1) {
      const id = await newCategory(store);
      void store.categories.find(id);
      await store.transaction((tx) => tx.categories.delete(id));
      t.is(await store.categories.find(id), undefined);
    }
  });
}
