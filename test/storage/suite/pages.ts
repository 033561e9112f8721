/** Keyset pages: in ascending order of id, each row once, with the requested size. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type PetStatus, toCategoryId, toPetId } from '../../../src/shop/model.ts';
import type { Page, PageRequest } from '../../../src/storage/model.ts';
import { startLoad } from '../../support/load.ts';
import { newCategory, newPet, test } from './database.ts';

const STATUSES = ['available', 'pending', 'sold'] as const satisfies readonly PetStatus[];

/** The ids of all pages, and how many pages there were. */
async function walk(
  limit: number,
  pageOf: (page: PageRequest) => Promise<Page<{ readonly id: bigint }>>,
  afterPage: () => Promise<void> = async () => undefined,
): Promise<{ ids: bigint[]; pages: number }> {
  const ids: bigint[] = [];
  for (let pages = 1; ; pages += 1) {
    const { rows, hasMore } = await pageOf({ after: ids.at(-1) ?? 0n, limit });
    assert(rows.length <= limit);
    ids.push(...rows.map(({ id }) => id));
    if (!hasMore) return { ids, pages };
    assert.equal(rows.length, limit);
    await afterPage();
  }
}

export function pageTests(): void {
  test('Pages - a list without rows is one empty page', async (t) => {
    const { store } = t.context;
    const empty = { rows: [], hasMore: false };
    t.deepEqual(await store.pets.page({ after: 0n, limit: 20 }), empty);
    t.deepEqual(await store.categories.page({ after: 0n, limit: 20 }), empty);
    t.deepEqual(await store.orders.page({ after: 0n, limit: 20 }), empty);
    t.deepEqual(await store.accounts.page({ after: 0n, limit: 20 }), empty);
  });

  test('Pages - of any size contain every row once, in ascending order, and mark the last page', async (t) => {
    const { store } = t.context;
    const all: bigint[] = [];
    for (let count = 0; count < 12; count += 1) all.push(await newCategory(store));
    for (const limit of [1, 2, 3, 4, 5, 6, 11, 12, 13, 100]) {
      const { ids, pages } = await walk(limit, (page) => store.categories.page(page));
      t.deepEqual(ids, all, `limit ${limit}`);
      t.is(pages, Math.ceil(all.length / limit), `limit ${limit}`);
    }
  });

  test('Pages - after the last row, or any larger id, a page is empty', async (t) => {
    const { store } = t.context;
    const last = await newCategory(store);
    for (const after of [last, last + 1n, 2n ** 53n + 1n, 2n ** 63n - 1n]) {
      t.deepEqual(await store.categories.page({ after, limit: 20 }), { rows: [], hasMore: false });
    }
    t.is((await store.categories.page({ after: -(2n ** 63n), limit: 20 })).rows.length, 1);
  });

  test('Pages of pets - every combination of filters returns exactly the matching rows', async (t) => {
    const { store } = t.context;
    const categories = [await newCategory(store), await newCategory(store)];
    const pets: Awaited<ReturnType<typeof newPet>>[] = [];
    for (let count = 0; count < 24; count += 1) {
      const [categoryId, status] = [categories[count % 2] ?? toCategoryId(0n), STATUSES[count % 3] ?? 'sold'];
      pets.push(await newPet(store, { categoryId, status }));
    }
    const someIds = pets.filter((_, index) => index % 5 !== 0).map(({ id }) => id);
    for (const status of [undefined, ...STATUSES]) {
      for (const categoryId of [undefined, ...categories, toCategoryId(999n)]) {
        const passing = pets
          .filter((pet) => status === undefined || pet.status === status)
          .filter((pet) => categoryId === undefined || pet.categoryId === categoryId);
        const { ids } = await walk(3, (page) => store.pets.page(page, { status, categoryId }));
        t.deepEqual(
          ids,
          passing.map(({ id }) => id),
        );
        const found = await store.pets.findAll([...someIds, toPetId(999_999n)].reverse(), { status, categoryId });
        t.deepEqual(
          found,
          passing.filter(({ id }) => someIds.includes(id)),
        );
      }
    }
  });

  test('Pages of orders - every combination of filters returns exactly the matching rows', async (t) => {
    const { store } = t.context;
    const petIds = [(await newPet(store)).id, (await newPet(store)).id];
    const orders = await store.transaction(async (tx) => {
      const fields = [...petIds, undefined].flatMap((petId) => [true, false].map((complete) => ({ petId, complete })));
      const inserted = [];
      for (const one of [...fields, ...fields, ...fields]) {
        inserted.push(await tx.orders.insert({ quantity: 1, shipDate: undefined, ...one }));
      }
      return inserted;
    });
    for (const petId of [undefined, ...petIds, toPetId(999n), toPetId(2n ** 63n - 1n)]) {
      for (const complete of [undefined, true, false]) {
        const { ids } = await walk(2, (page) => store.orders.page(page, { petId, complete }));
        const passing = orders
          .filter((order) => petId === undefined || order.petId === petId)
          .filter((order) => complete === undefined || order.complete === complete);
        t.deepEqual(
          ids,
          passing.map(({ id }) => id),
        );
      }
    }
  });

  test('Pets by ids - an id given twice is found once', async (t) => {
    const { store } = t.context;
    const pet = await newPet(store);
    t.deepEqual(await store.pets.findAll([pet.id, pet.id, ...[0n, -1n, 2n ** 63n - 1n].map(toPetId)]), [pet]);
    t.deepEqual(await store.pets.findAll([]), []);
  });

  test('Pages - always show earlier writes', async (t) => {
    const { store } = t.context;
    const pet = await newPet(store);
    const firstPage = { after: 0n, limit: 20 };
    // Keeps the same page busy all the time.
    const load = startLoad(20, async () => String((await store.pets.page(firstPage)).rows.length), { pauseMs: 0 });
    for (let quantity = 1; quantity <= 100; quantity += 1) {
      await store.transaction((tx) => tx.pets.update({ ...pet, quantity }));
      t.is((await store.pets.page(firstPage)).rows[0]?.quantity, quantity);
    }
    await load.stop();
    t.deepEqual([...load.answers.keys()], ['1']);
  });

  test('Pages - many different concurrent pages are each correct', async (t) => {
    const { store } = t.context;
    const ids: bigint[] = [];
    for (let count = 0; count < 30; count += 1) ids.push(await newCategory(store));
    const wanted = Array.from({ length: 600 }, (_, index) => ({ after: ids[index % 7] ?? 0n, limit: (index % 5) + 1 }));
    const pages = await Promise.all(wanted.map((page) => store.categories.page(page)));
    for (const [index, { after, limit }] of wanted.entries()) {
      const from = ids.indexOf(after) + 1;
      const found = pages[index]?.rows.map(({ id }) => id);
      t.deepEqual(found, ids.slice(from, from + limit), `${index}`);
    }
  });

  test('Pages - a row that exists throughout is returned exactly once during inserts and deletes', async (t) => {
    const { store } = t.context;
    const actions = fc.array(fc.constantFrom('insert', 'delete'), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(actions, { maxLength: 10 }), async (limit, turns) => {
        const initial = await store.transaction(async (tx) => {
          const inserted = [];
          for (let count = 0; count < 10; count += 1)
            inserted.push(await tx.categories.insert({ name: 'Cats', description: undefined }));
          return inserted.map(({ id }) => id);
        });
        const deleted = new Set<bigint>();
        const turn = turns.values();
        const applyTurn = async () => {
          for (const action of turn.next().value ?? []) {
            const target = initial[Math.floor((deleted.size * 7) % initial.length)] ?? toCategoryId(0n);
            if (action === 'insert') await newCategory(store);
            else await store.transaction((tx) => tx.categories.delete(target));
            if (action === 'delete') deleted.add(target);
          }
        };
        const { ids } = await walk(limit, (page) => store.categories.page(page), applyTurn);
        const sorted = [...ids].sort((a, b) => (a < b ? -1 : 1));
        assert.deepEqual(ids, sorted);
        for (const id of initial) {
          const seen = ids.filter((one) => one === id).length;
          assert(deleted.has(id) ? seen <= 1 : seen === 1, `${id} was seen ${seen} times`);
        }
        await store.transaction(async (tx) => {
          for (const id of ids) await tx.categories.delete(toCategoryId(id));
        });
      }),
      { numRuns: 40 },
    );
    t.pass();
  });
}
