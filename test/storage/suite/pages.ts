/** Reads of many rows: look-ups by id share loads; pages are in ascending order of id, each row once. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Page, PageRequest } from '../../../src/platform/tables/sort-order.ts';
import { type CategoryId, toCategoryId } from '../../../src/shop/categories/table.ts';
import { PET_STATUSES, type PetStatus, toPetId } from '../../../src/shop/pets/table.ts';
import { startLoad } from '../../support/calls/load.ts';
import { newCategories, newCategory, newPet, test } from './database.ts';

/** The ids of all pages, and how many pages there were. */
async function walk(
  limit: number,
  pageOf: (page: PageRequest) => Promise<Page<{ readonly id: bigint }>>,
  afterPage: () => Promise<void> = async () => undefined,
): Promise<{ ids: bigint[]; pages: number }> {
  const ids: bigint[] = [];
  for (let pages = 1; ; pages += 1) {
    const { rows, hasMore } = await pageOf({ after: ids.at(-1) ?? 0n, limit });
    ids.push(...rows.map(({ id }) => id));
    if (!hasMore) return { ids, pages };
    assert(rows.length > 0 && rows.length <= limit);
    await afterPage();
  }
}

const idsOf = (rows: readonly { readonly id: bigint }[]) => rows.map(({ id }) => id);

export function pageTests(): void {
  test('Look-ups and pages - always show earlier writes, also deletions', async (t) => {
    const { store } = t.context;
    const pet = await newPet(store);
    const first = { after: 0n, limit: 20 };
    // Keeps the look-up and the page busy all the time.
    const read = async () => [await store.pets.find(pet.id), (await store.pets.page(first)).rows[0]];
    const load = startLoad(20, async () => String((await read()).map((found) => found?.id)), { pauseMs: 0 });
    for (let quantity = 1; quantity <= 50; quantity += 1) {
      await store.transaction((tx) => tx.pets.update({ ...pet, quantity }));
      t.deepEqual(await read(), Array(2).fill({ ...pet, quantity }));
    }
    await load.stop();
    t.deepEqual([...load.answers.keys()], [`${pet.id},${pet.id}`]);
    void store.pets.find(pet.id);
    await store.transaction((tx) => tx.pets.delete(pet.id));
    t.deepEqual(await read(), [undefined, undefined]);
  });

  test('Pages - of large rows are cut at 64 KiB, whole rows at least, and contain every row once', async (t) => {
    const { store } = t.context;
    const sizes = Array.from({ length: 150 }, (_, index) => (index < 50 ? 2_000 : (index * 37) % 2_000));
    sizes[120] = 100_000; // as nobody's service here stores
    const textOf = (size: number) => (size % 3 === 0 ? '\n\x01\x1f'.repeat(size / 3) : 'é'.repeat(size / 2));
    const ids: bigint[] = [];
    await store.transaction(async ({ categories }) => {
      for (const size of sizes) ids.push((await categories.insert({ name: 'x', description: textOf(size) })).id);
    });
    const first = await store.categories.page({ after: 0n, limit: 100 });
    t.is(first.rows.length, 32);
    t.deepEqual(await store.categories.find(first.rows[31]?.id ?? toCategoryId(0n)), first.rows[31]);
    for (const limit of [1, 20, 100]) {
      const lengths: number[] = [];
      const walked = await walk(limit, async (page) => {
        const found = await store.categories.page(page);
        const bytes = found.rows.map(({ description = '' }) => Buffer.byteLength(JSON.stringify(description)));
        lengths.push(bytes.reduce((sum, one) => sum + one, 0));
        return found;
      });
      t.deepEqual(walked.ids, ids);
      const tooLong = lengths.filter((bytes) => bytes > 65_536 && bytes !== 100_002);
      t.deepEqual(tooLong, []);
    }
  });

  test('Pages of pets - every combination of filters returns exactly the matching rows, also by ids', async (t) => {
    const { store } = t.context;
    const categories = await newCategories(store, 2);
    const pets: Awaited<ReturnType<typeof newPet>>[] = [];
    for (let count = 0; count < 18; count += 1) {
      const [categoryId, status] = [categories[count % 2] ?? toCategoryId(0n), PET_STATUSES[count % 3] ?? 'sold'];
      pets.push(await newPet(store, { categoryId, status }));
    }
    const someIds = idsOf(pets.filter((_, index) => index % 5 !== 0)).map(toPetId);
    const wanted = [...someIds, ...someIds, ...[999_999n, 0n, -1n, 2n ** 63n - 1n].map(toPetId)].reverse();
    const check = async (status: PetStatus | undefined, categoryId: CategoryId | undefined) => {
      const passing = pets
        .filter((pet) => status === undefined || pet.status === status)
        .filter((pet) => categoryId === undefined || pet.categoryId === categoryId);
      const { ids } = await walk(3, (page) => store.pets.page(page, { status, categoryId }));
      t.deepEqual(ids, idsOf(passing));
    };
    // At the same time, since pages with the same kind of filters may share a statement.
    const ofStatus = (status?: PetStatus) =>
      [undefined, ...categories, toCategoryId(999n)].map((categoryId) => check(status, categoryId));
    await Promise.all([undefined, ...PET_STATUSES].flatMap(ofStatus));
    const found = pets.filter(({ id }) => someIds.includes(id));
    t.deepEqual(await store.pets.findAll(wanted), found);
    t.deepEqual(await store.pets.findAll([]), []);
    const byId = wanted.map((id) => pets.find((pet) => pet.id === id));
    t.deepEqual(await Promise.all(wanted.map(store.pets.find)), byId, 'looked up at the same time');
  });

  test('Pages - a row that exists throughout is returned exactly once during inserts and deletes', async (t) => {
    const { store } = t.context;
    const actions = fc.array(fc.constantFrom('insert', 'delete'), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(actions, { maxLength: 10 }), async (limit, turns) => {
        const initial = await newCategories(store, 10);
        const deleted = new Set<bigint>();
        const turn = turns.values();
        const applyTurn = async () => {
          for (const action of turn.next().value ?? []) {
            const target = initial[(deleted.size * 7) % initial.length] ?? toCategoryId(0n);
            if (action === 'insert') await newCategory(store);
            else await store.transaction((tx) => tx.categories.delete(target));
            if (action === 'delete') deleted.add(target);
          }
        };
        const { ids } = await walk(limit, (page) => store.categories.page(page), applyTurn);
        assert(ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0n)));
        for (const id of initial) {
          const seen = ids.filter((one) => one === id).length;
          assert(deleted.has(id) ? seen <= 1 : seen === 1, `${id} was seen ${seen} times`);
        }
        await store.transaction(async (tx) => {
          for (const id of ids) await tx.categories.delete(toCategoryId(id));
        });
      }),
      { numRuns: 20 },
    );
    t.pass();
  });
}
