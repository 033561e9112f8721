/**
 * What is each resource's own. operations.test.ts has what holds for all of them. The rules of stock and status have a
 * model in test/shop, which any history agrees with: here is one history.
 */
import { nextOf } from '../support/calls/pages.ts';
import type { RestClient, RestResponse } from '../support/calls/rest-client.ts';
import { isError, isInvalid } from '../support/contract/errors.ts';
import { stackTest } from '../support/service/shared-stack.ts';

const test = stackTest();

async function idsOf(rest: RestClient, path: string): Promise<number[]> {
  const { status, text, body } = await rest.get(path);
  if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text}`);
  return body.map(({ id, petId }: { id?: number; petId: number }) => id ?? petId);
}

test('Link - is the path of the next page, with the other query parameters unchanged', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  await Promise.all(Array.from({ length: 6 }, () => rest.pet({ categoryId })));
  const encoded = [...`${categoryId}`].map((digit) => `%3${digit}`).join('');
  for (const start of [
    `/pets?limit=2&status=available&categoryId=${categoryId}&`,
    `/pets/?categoryId=${encoded}&limit=2&`,
    '/categories?limit=2&',
  ]) {
    const next = nextOf((await rest.get(start.slice(0, -1))).headers) ?? '';
    const second = nextOf((await rest.get(next)).headers) ?? '';
    for (const path of [next, second]) {
      t.true(path.startsWith(`${start}pageToken=`), path);
      t.regex(path.slice(start.length), /^pageToken=[\w-]+$/); // one page token, the new one
    }
    t.not(second, next);
  }
});

test('GET /pets?ids - accepts at most 100 ids, and returns all pets without pages', async (t) => {
  const { rest } = t.context;
  const [categoryId, other] = [await rest.category(), await rest.category()];
  const pets = await Promise.all(Array.from({ length: 30 }, () => rest.pet({ categoryId })));
  const query = [...pets, ...Array.from({ length: 70 }, (_, i) => 800_000 + i)].map((id) => `ids=${id}`).join('&');
  const { headers, body } = await rest.get(`/pets?${query}&limit=1`);
  t.is(body.length, 30);
  t.false(headers.has('link'));
  for (const filter of [`categoryId=${other}`, `categoryId=${categoryId}&status=sold`])
    t.deepEqual(await idsOf(rest, `/pets?${query}&${filter}`), []);
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

test('/store/orders - 409 INSUFFICIENT_STOCK has the quantity that was sent, the stock and the order', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const { id } = await rest.order({ petId, quantity: 2 });
  const message = `pet ${petId}: quantity 6 is more than the 3 in stock`;
  isError(t, await rest.post('/store/orders', { petId, quantity: 6 }), 409, 'INSUFFICIENT_STOCK', message);
  const patched = await rest.patch(`/store/orders/${id}`, { quantity: 6 });
  isError(t, patched, 409, 'INSUFFICIENT_STOCK', `${message} and the 2 that the order has`);
  t.is((await rest.patch(`/store/orders/${id}`, { quantity: 5 })).status, 200);
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

test('Deprecation - GET /pets/{petId} announces it, with sunset and successor, and so does its 404', async (t) => {
  const { rest } = t.context;
  const announced = ({ headers }: RestResponse) => ['deprecation', 'sunset', 'link'].map((name) => headers.get(name));
  const petId = await rest.pet();
  for (const id of [petId, 999_999, '9223372036854775807', -1]) {
    t.deepEqual(announced(await rest.get(`/pets/${id}`)), [
      '@1782864000',
      'Fri, 31 Dec 2027 23:59:59 GMT',
      `</pets?ids=${id}>; rel="successor-version"`,
    ]);
  }
  t.deepEqual((await rest.get(`/pets?ids=${petId}`)).body, [(await rest.get(`/pets/${petId}`)).body]);
  for (const response of [await rest.get('/pets/abc'), await rest.withKey(undefined).get('/pets/1')]) {
    t.deepEqual(announced(response), [null, null, null], response.text);
  }
});
