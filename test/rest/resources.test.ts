/**
 * What is each resource's own. operations.test.ts has what holds for all of them. The rules of stock and status have a
 * model in test/shop, which any history agrees with: here is one history.
 */
import anyTest, { type TestFn } from 'ava';
import { isError, isInvalid } from '../support/contract.ts';
import type { RestClient } from '../support/rest-client.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

/** The ids of a list, in its order. */
async function idsOf(rest: RestClient, path: string): Promise<number[]> {
  const { status, text, body } = await rest.get(path);
  if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text}`);
  return body.map(({ id, petId }: { id?: number; petId: number }) => id ?? petId);
}

/** Two pets of one category and one of another; the first and the last are sold. */
async function threePets(rest: RestClient) {
  const [cats, dogs] = [await rest.category('Cats'), await rest.category('Dogs')];
  const soldCat = await rest.pet({ categoryId: cats, status: 'sold' });
  const cat = await rest.pet({ categoryId: cats });
  const soldDog = await rest.pet({ categoryId: dogs, status: 'sold' });
  return { cats, dogs, soldCat, cat, soldDog };
}

test('GET /pets - returns a bare array of pets in ascending order of id', async (t) => {
  const { rest } = t.context;
  const { cats, soldCat, cat } = await threePets(rest);
  const { text } = await rest.get(`/pets?categoryId=${cats}`);
  const rows = [`"id":${soldCat},"name":"Tom","categoryId":${cats},"status":"sold"`];
  rows.push(`"id":${cat},"name":"Tom","categoryId":${cats},"status":"available"`);
  t.is(text, `[${rows.map((row) => `{${row}}`)}]`);
  for (const none of [`categoryId=${await rest.category()}`, 'categoryId=999999', 'ids=999999']) {
    t.is((await rest.get(`/pets?${none}`)).text, '[]', none);
  }
});

test('GET /pets - status, categoryId and ids filter the list, also together', async (t) => {
  const { rest } = t.context;
  const { cats, dogs, soldCat, cat, soldDog } = await threePets(rest);
  const all = `ids=${soldDog}&ids=${cat}&ids=${soldCat}&ids=${cat}&ids=0&ids=-5&ids=9223372036854775807`;
  for (const [query, expected] of [
    [`categoryId=${cats}`, [soldCat, cat]],
    [`categoryId=${cats}&status=sold`, [soldCat]],
    [`status=sold&categoryId=${dogs}`, [soldDog]],
    [all, [soldCat, cat, soldDog]],
    [`${all}&status=sold`, [soldCat, soldDog]],
    [`${all}&categoryId=${cats}&status=pending`, []],
  ] as const) {
    t.deepEqual(await idsOf(rest, `/pets?${query}`), [...expected], query);
  }
});

test('GET /pets?ids - accepts at most 100 ids, and returns all pets without pages', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const pets = await Promise.all(Array.from({ length: 30 }, () => rest.pet({ categoryId })));
  const query = [...pets, ...Array.from({ length: 70 }, (_, i) => 800_000 + i)].map((id) => `ids=${id}`).join('&');
  const { headers, body } = await rest.get(`/pets?${query}&limit=1`);
  t.is(body.length, 30);
  t.false(headers.has('link'));
  isInvalid(t, await rest.get(`/pets?${query}&ids=1`), 'ids');
});

test('GET /store/inventory - has each pet, by its current status', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 1 });
  const listed = async () => {
    const lists = ['available', 'pending', 'sold'].map((status) =>
      idsOf(rest, `/store/inventory?limit=100&status=${status}`),
    );
    return (await Promise.all(lists)).map((ids) => ids.includes(petId));
  };
  t.deepEqual(await listed(), [true, false, false]);
  const { id } = await rest.order({ petId });
  t.deepEqual(await listed(), [false, true, false]);
  await rest.patch(`/store/orders/${id}`, { complete: true });
  t.deepEqual(await listed(), [false, false, true]);
});

test('GET /store/orders - petId and complete filter the list, also together', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const open = (await rest.order({ petId })).id;
  const complete = (await rest.order({ petId, complete: true })).id;
  await rest.order({ complete: true });
  t.deepEqual(await idsOf(rest, `/store/orders?petId=${petId}`), [open, complete]);
  t.deepEqual(await idsOf(rest, `/store/orders?petId=${petId}&complete=false`), [open]);
  t.deepEqual(await idsOf(rest, `/store/orders?complete=true&petId=${petId}`), [complete]);
});

test('POST /pets - creates an inventory entry with quantity 0 and the status of the pet, or available', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  for (const sent of [undefined, null, 'pending', 'sold']) {
    const { id: petId, status } = (await rest.post('/pets', { name: 'Tom', categoryId, status: sent })).body;
    t.is(status, sent ?? 'available');
    t.deepEqual((await rest.get(`/store/inventory/${petId}`)).body, { petId, quantity: 0, status });
  }
});

test('POST /pets - a category that does not exist is 400 UNKNOWN_CATEGORY', async (t) => {
  const { rest } = t.context;
  const id = await rest.pet();
  const { body: before } = await rest.get(`/pets/${id}`);
  const json = { name: 'Rex', categoryId: 999_999, status: 'sold' };
  for (const response of [
    await rest.post('/pets', json),
    await rest.put(`/pets/${id}`, json),
    await rest.patch(`/pets/${id}`, json),
  ]) {
    isError(t, response, 400, 'UNKNOWN_CATEGORY', 'categoryId: category 999999 does not exist');
  }
  isError(t, await rest.put('/pets/999999', json), 404, 'PET_NOT_FOUND'); // whatever the category
  t.deepEqual((await rest.get(`/pets/${id}`)).body, before);
});

test('PUT - replaces every field: an absent status becomes available, an absent description is removed', async (t) => {
  const { rest } = t.context;
  const [cats, dogs] = [await rest.category('Cats'), await rest.category('Dogs')];
  const petId = await rest.pet({ categoryId: cats, status: 'sold', stock: 5 });
  const pet = { id: petId, name: 'Rex', categoryId: dogs, status: 'available' };
  t.deepEqual((await rest.put(`/pets/${petId}/`, { name: 'Rex', categoryId: dogs })).body, pet);
  t.deepEqual((await rest.get(`/store/inventory/${petId}`)).body, { petId, quantity: 5, status: 'available' });
  const { id } = (await rest.post('/categories', { name: 'Cats', description: 'Small felines' })).body;
  t.deepEqual((await rest.put(`/categories/${id}`, { name: 'Dogs' })).body, { id, name: 'Dogs' });
  isInvalid(t, await rest.put(`/categories/${id}`, { description: 'nameless' }), 'name');
  t.deepEqual((await rest.get(`/categories/${id}`)).body, { id, name: 'Dogs' });
});

test('PATCH - changes each field alone; null and an absent one leave it alone', async (t) => {
  const { rest } = t.context;
  const [cats, dogs] = [await rest.category('Cats'), await rest.category('Dogs')];
  const pet = `/pets/${await rest.pet({ categoryId: cats, status: 'sold' })}`;
  const order = `/store/orders/${(await rest.order({ petId: await rest.pet({ stock: 9 }), quantity: 2 })).id}`;
  for (const [path, patches] of [
    [pet, [{ name: 'Rex' }, { categoryId: dogs }, { status: 'pending' }]],
    [`/categories/${cats}`, [{ description: 'Loyal' }, { name: 'Dogs' }, { description: '' }]],
    [order, [{ quantity: 3 }, { shipDate: '2027-01-02T03:04:05Z' }, { quantity: 4, complete: true }]],
  ] as const) {
    let { body: expected } = await rest.get(path);
    for (const patch of patches) {
      expected = { ...expected, ...patch };
      const nothing = { id: 7, petId: null, name: null, status: null, ...patch };
      t.deepEqual((await rest.patch(path, nothing)).body, expected);
    }
    t.deepEqual((await rest.get(path)).body, expected);
  }
});

test('DELETE /pets/{petId} - is 409 PET_IN_USE while an order that is not complete names the pet', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const complete = await rest.order({ petId, complete: true });
  const [first, second] = [await rest.order({ petId }), await rest.order({ petId })];
  const message = `an order that is not complete names pet ${petId}: complete or cancel it first`;
  isError(t, await rest.delete(`/pets/${petId}`), 409, 'PET_IN_USE', message);
  await rest.delete(`/store/orders/${first.id}`);
  isError(t, await rest.delete(`/pets/${petId}`), 409, 'PET_IN_USE', message);
  await rest.patch(`/store/orders/${second.id}`, { complete: true });
  t.is((await rest.delete(`/pets/${petId}`)).status, 204);
  isError(t, await rest.get(`/store/inventory/${petId}`), 404, 'INVENTORY_NOT_FOUND');
  isError(t, await rest.put(`/store/inventory/${petId}`, { quantity: 1 }), 404, 'INVENTORY_NOT_FOUND');
  t.deepEqual(await idsOf(rest, `/store/orders?petId=${petId}`), [complete.id, second.id]); // they stay
});

test('DELETE /categories/{categoryId} - is 409 CATEGORY_IN_USE while a pet is in it', async (t) => {
  const { rest } = t.context;
  const [used, other] = [await rest.category(), await rest.category()];
  const [gone, moved] = [await rest.pet({ categoryId: used }), await rest.pet({ categoryId: used })];
  const message = `category ${used} still has pets: move or delete them first`;
  isError(t, await rest.delete(`/categories/${used}`), 409, 'CATEGORY_IN_USE', message);
  await rest.delete(`/pets/${gone}`);
  isError(t, await rest.delete(`/categories/${used}`), 409, 'CATEGORY_IN_USE', message);
  await rest.patch(`/pets/${moved}`, { categoryId: other });
  t.is((await rest.delete(`/categories/${used}`)).status, 204);
});

test('PUT /store/inventory/{petId} - quantity is required: 0 is a value, absent is an error', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 3 });
  for (const json of [{}, undefined, { quantity: null }, { status: 'sold' }]) {
    isInvalid(t, await rest.put(`/store/inventory/${petId}`, json), 'quantity');
  }
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 3);
  const entry = { petId, quantity: 0, status: 'available' };
  t.deepEqual((await rest.put(`/store/inventory/${petId}`, { petId: 7, quantity: 0, status: 'sold' })).body, entry);
});

test('PUT /store/inventory/{petId} - leaves room for the units of open orders', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 1_000_000_000 });
  for (const quantity of [1_000_000, 1_000_000, 1_000_000]) await rest.order({ petId, quantity });
  const refused = await rest.put(`/store/inventory/${petId}`, { quantity: 997_000_001 });
  const message = 'quantity: must be at most 997000000 while 3000000 units are in open orders, which may be cancelled';
  isError(t, refused, 400, 'INVALID_ARGUMENT', message);
  t.is((await rest.put(`/store/inventory/${petId}`, { quantity: 997_000_000 })).status, 200);
});

test('POST /store/orders - no field is required: quantity is 1 and complete is false', async (t) => {
  const { rest } = t.context;
  for (const json of [{}, undefined, { petId: null, quantity: null, shipDate: null, complete: null }]) {
    const { status, body } = await rest.post('/store/orders', json);
    t.deepEqual([status, body], [201, { id: body.id, quantity: 1, complete: false }]);
  }
});

test('POST /store/orders - a pet that does not exist is 400 UNKNOWN_PET, and no order is placed', async (t) => {
  const { rest } = t.context;
  const message = 'petId: pet 999999 does not exist';
  isError(t, await rest.post('/store/orders', { petId: 999_999 }), 400, 'UNKNOWN_PET', message);
  t.deepEqual(await idsOf(rest, '/store/orders?petId=999999'), []);
});

test('/store/orders/{orderId} - a complete order can not be changed: 409 ORDER_COMPLETE', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const placed = await rest.order({ complete: true });
  const { id } = await rest.order({ petId });
  const closed = (await rest.patch(`/store/orders/${id}`, { complete: true })).body;
  for (const order of [placed, closed]) {
    const path = `/store/orders/${order.id}`;
    const message = `order ${order.id} is complete: it can't be reopened, changed or cancelled`;
    for (const patch of [{ complete: false }, { quantity: 2 }, { complete: true }]) {
      isError(t, await rest.patch(path, patch), 409, 'ORDER_COMPLETE', message);
    }
    isError(t, await rest.delete(path), 409, 'ORDER_COMPLETE', message);
    t.deepEqual((await rest.get(path)).body, order);
  }
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 4);
});

interface World {
  readonly rest: RestClient;
  readonly petId: number;
  /** The path of each order. */
  readonly orders: string[];
}
type Step = (world: World) => Promise<unknown>;

const place = (quantity: number, fields: object = {}): Step => {
  return async ({ rest, petId, orders }) =>
    orders.push(`/store/orders/${(await rest.order({ petId, quantity, ...fields })).id}`);
};
const change = (json: object, order = -1): Step => {
  return ({ rest, orders }) => rest.patch(orders.at(order) ?? '', json);
};
const cancel: Step = ({ rest, orders }) => rest.delete(orders.at(-1) ?? '');
const restock = (quantity: number): Step => {
  return ({ rest, petId }) => rest.put(`/store/inventory/${petId}`, { quantity });
};
const setStatus = (status: string): Step => {
  return ({ rest, petId }) => rest.patch(`/pets/${petId}`, { status });
};

/** What happens to a pet with 10 units, then its stock and its status. */
const STORY: readonly (readonly [what: string, Step, number, string])[] = [
  ['an order takes its units', place(3), 7, 'available'],
  ['one without a pet takes none', ({ rest }) => rest.order({ quantity: 9 }), 7, 'available'],
  ['a larger order takes the difference', change({ quantity: 9 }), 1, 'available'],
  ['a smaller one returns it', change({ quantity: 2 }), 8, 'available'],
  ['a cancelled one returns its units', cancel, 10, 'available'],
  ['once only', cancel, 10, 'available'],
  [
    'more than the stock is refused',
    ({ rest, petId }) => rest.post('/store/orders', { petId, quantity: 11 }),
    10,
    'available',
  ],
  ['the last unit makes an available pet pending', place(10), 0, 'pending'],
  ['a refused change changes nothing', change({ quantity: 11, complete: true }), 0, 'pending'],
  ['returned units make it available', change({ quantity: 4 }), 6, 'available'],
  ['a client may set any status, which stays', setStatus('sold'), 6, 'sold'],
  ['until the last unit is taken, which changes only an available pet', place(6), 0, 'sold'],
  ['new stock makes it available', restock(5), 5, 'available'],
  ['an inventory of zero changes no status', restock(0), 0, 'available'],
  ['nor does a change of another field', change({ shipDate: '2027-01-02T03:04:05Z' }), 0, 'available'],
  ['the inventory is what is left without the units of open orders', cancel, 6, 'available'],
  ['an order placed complete takes its stock', place(6, { complete: true }), 0, 'pending'],
  ['without stock and open orders a pending pet is sold', change({ complete: true }, 1), 0, 'sold'],
];

test('Stock and status - follow orders, the inventory and what a client sets, step by step', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 10 });
  const world = { rest, petId, orders: [] };
  for (const [what, step, quantity, status] of STORY) {
    await step(world);
    t.deepEqual((await rest.get(`/store/inventory/${petId}`)).body, { petId, quantity, status }, what);
    t.is((await rest.get(`/pets/${petId}`)).body.status, status, what);
  }
});
