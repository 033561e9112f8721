import anyTest, { type TestFn } from 'ava';
import { walk } from '../../support/pages.ts';
import type { RestClient, RestResponse } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const STEADY = 40;

interface Shelf {
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
 * Walks the list while, beside every page, a row is added at its end and rows are removed before, on and behind the
 * page. Asserts that each row that was there from start to finish is seen once, and no row twice.
 */
const seesEachOnce = test.macro(async (t, shelfOf: (rest: RestClient) => Promise<Shelf>) => {
  const { path, add, remove } = await shelfOf(t.context.rest);
  const rows = await Promise.all(Array.from({ length: 2 * STEADY }, add));
  rows.sort((a, b) => a - b);
  const steady = rows.filter((_, i) => i % 2 === 0);
  const passing = new Set(rows.filter((_, i) => i % 2 === 1));

  const between = async (page: readonly Row[]) => {
    const left = [...passing];
    const doomed = new Set([left.at(0), left.at(-1), page.map(idOf).findLast((id) => passing.has(id))]);
    const removals = [...doomed].filter((id) => id !== undefined);
    for (const id of removals) passing.delete(id);
    const [added, ...removed] = await Promise.all([add(), ...removals.map(remove)]);
    t.true(removed.every(({ status }) => status === 200 || status === 204));
    if (passing.size > STEADY / 4) passing.add(added);
  };

  const pages = await walk<Row>(t.context.rest, path, between);
  t.true(pages.length >= 8);
  const seen = pages.flat().map(idOf);
  const inOrder = [...new Set(seen)].toSorted((a, b) => a - b);
  t.deepEqual(seen, inOrder);
  const missed = steady.filter((id) => !seen.includes(id));
  t.deepEqual(missed, []);
});

/** A title for each shelf. */
const titled = (what: string) =>
  `GET ${what} - while rows come and go, each that is there from start to finish is seen exactly once`;

test.serial(titled('/pets'), seesEachOnce, async (rest) => {
  const categoryId = await rest.category();
  return { path: '/pets?limit=7', add: () => rest.pet({ categoryId }), remove: (id) => rest.delete(`/pets/${id}`) };
});

test.serial(titled('/pets?status&categoryId'), seesEachOnce, async (rest) => {
  const categoryId = await rest.category();
  return {
    path: `/pets?limit=7&status=sold&categoryId=${categoryId}`,
    add: () => rest.pet({ categoryId, status: 'sold' }),
    // Some are deleted, some only leave the list.
    remove: (id) => (id % 4 < 2 ? rest.delete(`/pets/${id}`) : rest.patch(`/pets/${id}`, { status: 'pending' })),
  };
});

test.serial(titled('/categories'), seesEachOnce, async (rest) => ({
  path: '/categories?limit=7',
  add: () => rest.category(),
  remove: (id) => rest.delete(`/categories/${id}`),
}));

test.serial(titled('/store/orders?petId&complete'), seesEachOnce, async (rest) => {
  const petId = await rest.pet({ stock: 1_000 });
  return {
    path: `/store/orders?complete=false&petId=${petId}&limit=7`,
    add: async () => (await rest.order({ petId })).id,
    remove: (id) =>
      id % 4 < 2 ? rest.delete(`/store/orders/${id}`) : rest.patch(`/store/orders/${id}`, { complete: true }),
  };
});

test.serial(titled('/store/inventory?status'), seesEachOnce, async (rest) => {
  const categoryId = await rest.category();
  return {
    path: '/store/inventory?limit=7&status=pending',
    add: () => rest.pet({ categoryId, status: 'pending' }),
    remove: (id) => (id % 4 < 2 ? rest.delete(`/pets/${id}`) : rest.put(`/store/inventory/${id}`, { quantity: 3 })),
  };
});
