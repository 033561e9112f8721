import anyTest, { type TestFn } from 'ava';
import { walk } from '../../support/pages.ts';
import type { RestClient, RestResponse } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const PERMANENT = 40;

interface List {
  readonly path: string;
  /** Adds a row to the list. */
  readonly add: () => Promise<number>;
  readonly remove: (id: number) => Promise<RestResponse>;
}

interface Row {
  readonly id?: number;
  readonly petId?: number;
}

const idOf = ({ id, petId }: Row) => id ?? petId ?? 0;

/**
 * Walks the list. After each page, during the next request, a row is added at the end, and rows before, on and after
 * the page are removed. Asserts that each row that exists throughout is returned once, and no row twice.
 */
const returnsEachOnce = test.macro(async (t, createList: (rest: RestClient) => Promise<List>) => {
  const { path, add, remove } = await createList(t.context.rest);
  const rows = await Promise.all(Array.from({ length: 2 * PERMANENT }, add));
  rows.sort((a, b) => a - b);
  const permanent = rows.filter((_, i) => i % 2 === 0);
  const temporary = new Set(rows.filter((_, i) => i % 2 === 1));

  const between = async (page: readonly Row[]) => {
    const left = [...temporary];
    const chosen = new Set([left.at(0), left.at(-1), page.map(idOf).findLast((id) => temporary.has(id))]);
    const removals = [...chosen].filter((id) => id !== undefined);
    for (const id of removals) temporary.delete(id);
    const [added, ...removed] = await Promise.all([add(), ...removals.map(remove)]);
    t.true(removed.every(({ status }) => status === 200 || status === 204));
    if (temporary.size > PERMANENT / 4) temporary.add(added);
  };

  const pages = await walk<Row>(t.context.rest, path, between);
  t.true(pages.length >= 8);
  const seen = pages.flat().map(idOf);
  const inOrder = [...new Set(seen)].toSorted((a, b) => a - b);
  t.deepEqual(seen, inOrder);
  const missed = permanent.filter((id) => !seen.includes(id));
  t.deepEqual(missed, []);
});

const titled = (what: string) =>
  `GET ${what} - a row that exists throughout is returned exactly once during inserts and deletes`;

test.serial(titled('/pets'), returnsEachOnce, async (rest) => {
  const categoryId = await rest.category();
  return { path: '/pets?limit=7', add: () => rest.pet({ categoryId }), remove: (id) => rest.delete(`/pets/${id}`) };
});

test.serial(titled('/pets?status&categoryId'), returnsEachOnce, async (rest) => {
  const categoryId = await rest.category();
  return {
    path: `/pets?limit=7&status=sold&categoryId=${categoryId}`,
    add: () => rest.pet({ categoryId, status: 'sold' }),
    // Some rows are deleted, others no longer match the filter.
    remove: (id) => (id % 4 < 2 ? rest.delete(`/pets/${id}`) : rest.patch(`/pets/${id}`, { status: 'pending' })),
  };
});

test.serial(titled('/categories'), returnsEachOnce, async (rest) => ({
  path: '/categories?limit=7',
  add: () => rest.category(),
  remove: (id) => rest.delete(`/categories/${id}`),
}));

test.serial(titled('/store/orders?petId&complete'), returnsEachOnce, async (rest) => {
  const petId = await rest.pet({ stock: 1_000 });
  return {
    path: `/store/orders?complete=false&petId=${petId}&limit=7`,
    add: async () => (await rest.order({ petId })).id,
    remove: (id) =>
      id % 4 < 2 ? rest.delete(`/store/orders/${id}`) : rest.patch(`/store/orders/${id}`, { complete: true }),
  };
});

test.serial(titled('/store/inventory?status'), returnsEachOnce, async (rest) => {
  const categoryId = await rest.category();
  return {
    path: '/store/inventory?limit=7&status=pending',
    add: () => rest.pet({ categoryId, status: 'pending' }),
    remove: (id) => (id % 4 < 2 ? rest.delete(`/pets/${id}`) : rest.put(`/store/inventory/${id}`, { quantity: 3 })),
  };
});
