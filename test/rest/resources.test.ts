/**
 * What is each resource's own; operations.test.ts and retrying.test.ts have what holds for all of them. The rules of
 * stock and status have a model in test/shop, which any history agrees with: here is one history.
 */
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { nextOf, type RestClient, type RestResponse } from '../support/calls/rest-client.ts';
import { isError, isInvalid } from '../support/contract/errors.ts';
import { etagOf, isReplayOf, newKey, readIf, sendIf, tagAt } from '../support/contract/retries.ts';
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
  const message = `pet ${petId}: quantity 6 is more than the 3 in stock and the 2 that the order has`;
  isError(t, await rest.patch(`/store/orders/${id}`, { quantity: 6 }), 409, 'INSUFFICIENT_STOCK', message);
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
  for (const id of [await rest.pet(), 999_999, '9223372036854775807', -1]) {
    t.deepEqual(announced(await rest.get(`/pets/${id}`)), [
      '@1782864000',
      'Fri, 31 Dec 2027 23:59:59 GMT',
      `</pets?ids=${id}>; rel="successor-version"`,
    ]);
  }
  t.deepEqual(announced(await rest.get('/pets/abc')), [null, null, null]);
});

test('ETag - GET /pets with exactly one of ids has that pet’s, absent pets and other lists have none', async (t) => {
  const { rest, grpc } = t.context;
  const [id, other] = [await rest.pet(), await rest.pet()];
  const tag = await tagAt(rest, `/pets/${id}`);
  for (const query of [`ids=${id}`, `%69ds=${id}&status=available`]) t.is(await tagAt(rest, `/pets?${query}`), tag);
  for (const query of ['ids=999999', `ids=${id}&status=sold`, `ids=${id}&ids=${other}`, `ids=${id}&ids=${id}`, '']) {
    const list = await readIf(rest, `/pets?${query}`, '*');
    t.deepEqual([list.status, etagOf(list)], [200, 'none'], query);
    t.is((await readIf(rest, `/pets?${query}`, 'no list')).status, /^ids=\d+(&s|$)/.test(query) ? 400 : 200);
  }
  const { headers } = await grpc.exchange(Pets.listPets, { ids: [BigInt(id)] });
  t.deepEqual(headers.get('etag'), [tag]);
  t.is((await rest.send('PATCH', `/pets/${id}`, { headers: { 'if-match': tag }, json: { name: 'Tim' } })).status, 200);
  t.is((await readIf(rest, `/pets?ids=${id}`, tag)).status, 200);
});

test('If-Match - a 412 comes after a 400 for an invalid request and a 404, and before the other errors', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const petId = await rest.pet({ categoryId, stock: 1 });
  const pet = `/pets/${petId}`;
  const { id: open } = await rest.order({ petId });
  const { id: closed } = await rest.order({ complete: true });
  isInvalid(t, await sendIf(rest, { method: 'PUT', path: pet, json: { name: '' } }, '"x"'), 'name', 'categoryId');
  isInvalid(t, await sendIf(rest, { method: 'PATCH', path: `${pet}?colour=red`, json: {} }, '"x"'), 'colour');
  const nowhere = { name: 'Tom', categoryId: 999_999 };
  for (const [method, path, json, status, code] of [
    ['PUT', pet, nowhere, 400, 'UNKNOWN_CATEGORY'],
    ['PATCH', pet, nowhere, 400, 'UNKNOWN_CATEGORY'],
    ['DELETE', pet, undefined, 409, 'PET_IN_USE'],
    ['DELETE', `/categories/${categoryId}`, undefined, 409, 'CATEGORY_IN_USE'],
    ['PATCH', `/store/orders/${open}`, { quantity: 9 }, 409, 'INSUFFICIENT_STOCK'],
    ['PATCH', `/store/orders/${closed}`, { quantity: 9 }, 409, 'ORDER_COMPLETE'],
    ['DELETE', `/store/orders/${closed}`, undefined, 409, 'ORDER_COMPLETE'],
  ] as const) {
    isError(t, await sendIf(rest, { method, path, json }, '"x"'), 412, 'PRECONDITION_FAILED');
    isError(t, await sendIf(rest, { method, path, json }, await tagAt(rest, path)), status, code);
  }
});

const placeAs = (rest: RestClient, key: string, raw: string, type = 'application/json') =>
  rest.send('POST', '/store/orders', { raw, headers: { 'idempotency-key': key, 'content-type': type } });

test('Idempotency-Key - only a success is stored: after an error the key is free for any request', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 1 });
  const order = (json: object) => placeAs(rest, 'only-a-success', JSON.stringify(json));
  isError(t, await order({ petId, quantity: 2 }), 409, 'INSUFFICIENT_STOCK');
  isError(t, await order({ petId: 999_999 }), 400, 'UNKNOWN_PET');
  await rest.put(`/store/inventory/${petId}`, { quantity: 5 });
  isReplayOf(t, await order({ petId, quantity: 2 }), await order({ petId, quantity: 2 }));
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 3);
});

test('The same request - white space, field order, unknown fields, numbers in strings do not matter', async (t) => {
  const { rest } = t.context;
  const key = newKey();
  const first = '{"petId":null,"quantity":3,"shipDate":"2027-01-02T03:04:05Z","complete":false}';
  const placed = await placeAs(rest, key, first);
  for (const raw of [
    ' { "quantity" : 3 ,\n\t"shipDate":"2027-01-02T03:04:05Z", "complete":false } ',
    '{"colour":"red","complete":false,"shipDate":"2027-01-02T03:04:05Z","quantity":3,"more":{"a":[1]}}',
    '{"quantity":"3","complete":false,"shipDate":"2027-01-02T03:04:05.000Z"}',
    '{"quantity":3.0,"complete":false,"ship_date":"2027-01-02T04:04:05+01:00"}',
  ]) {
    isReplayOf(t, placed, await placeAs(rest, key, raw), raw);
  }
  isReplayOf(t, placed, await placeAs(rest, key, first, 'application/json; charset=utf-8'));
  isError(t, await placeAs(rest, key, '{"quantity":3}'), 409, 'IDEMPOTENCY_KEY_REUSED'); // an absent field
});
