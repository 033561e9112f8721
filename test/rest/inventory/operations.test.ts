import anyTest, { type TestFn } from 'ava';
import { isError, isInvalid } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test('GET /store/inventory - returns a bare array of entries in order of petId, one per pet', async (t) => {
  const { rest } = t.context;
  const [first, second] = [await rest.pet({ stock: 3 }), await rest.pet({ status: 'sold' })];
  const { status, headers, body } = await rest.get('/store/inventory?limit=100');
  t.is(status, 200);
  t.is(headers.get('content-type'), 'application/json');
  const ids: number[] = body.map(({ petId }: { petId: number }) => petId);
  t.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  );
  t.is(new Set(ids).size, ids.length);
  t.deepEqual(body[ids.indexOf(first)], { petId: first, quantity: 3, status: 'available' });
  t.deepEqual(body[ids.indexOf(second)], { petId: second, quantity: 0, status: 'sold' });
});

test('GET /store/inventory - status filters the list by the current status of the pet', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 1 });
  const listed = async (status: string) => {
    const { body } = await rest.get(`/store/inventory?limit=100&status=${status}`);
    t.true(body.every((entry: { status: string }) => entry.status === status));
    return body.some((entry: { petId: number }) => entry.petId === petId);
  };
  t.deepEqual([await listed('available'), await listed('pending'), await listed('sold')], [true, false, false]);
  const { id } = await rest.order({ petId });
  t.deepEqual([await listed('available'), await listed('pending'), await listed('sold')], [false, true, false]);
  await rest.patch(`/store/orders/${id}`, { complete: true });
  t.deepEqual([await listed('available'), await listed('pending'), await listed('sold')], [false, false, true]);
});

test('GET /store/inventory/{petId} - returns the entry', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 3 });
  for (const path of [`/store/inventory/${petId}`, `/store/inventory/${petId}/`]) {
    const { status, body } = await rest.get(path);
    t.is(status, 200);
    t.deepEqual(body, { petId, quantity: 3, status: 'available' });
  }
});

test('PUT /store/inventory/{petId} - sets the count and returns the entry', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet();
  for (const quantity of [5, 0, 1_000_000_000, 1]) {
    const { status, body } = await rest.put(`/store/inventory/${petId}`, { quantity });
    t.is(status, 200);
    t.deepEqual(body, { petId, quantity, status: 'available' });
    t.deepEqual((await rest.get(`/store/inventory/${petId}`)).body, body);
  }
});

test('PUT /store/inventory/{petId} - quantity is required: 0 is a value, absent is an error', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 3 });
  for (const json of [{}, undefined, { quantity: null }, { status: 'sold' }]) {
    isInvalid(t, await rest.put(`/store/inventory/${petId}`, json), 'quantity');
  }
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 3);
  t.is((await rest.put(`/store/inventory/${petId}`, { quantity: 0 })).body.quantity, 0);
});

test('PUT /store/inventory/{petId} - returns the status of the pet, and ignores one in the body', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet();
  const { body } = await rest.put(`/store/inventory/${petId}`, { petId: 7, quantity: 2, status: 'sold' });
  t.deepEqual(body, { petId, quantity: 2, status: 'available' });
});

test('PUT /store/inventory/{petId} - sets the units in stock, without the units of open orders', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const { id } = await rest.order({ petId, quantity: 2 });
  await rest.put(`/store/inventory/${petId}`, { quantity: 1 });
  await rest.delete(`/store/orders/${id}`);
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 3);
});

test('PUT /store/inventory/{petId} - leaves room for the units of open orders', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 1_000_000_000 });
  const ids: number[] = [];
  for (let count = 0; count < 3; count += 1) ids.push((await rest.order({ petId, quantity: 1_000_000 })).id);
  const refused = await rest.put(`/store/inventory/${petId}`, { quantity: 997_000_001 });
  const message = 'quantity: must be at most 997000000 while 3000000 units are in open orders, which may be cancelled';
  isError(t, refused, 400, 'INVALID_ARGUMENT', message);
  for (const quantity of [0, 997_000_000]) {
    t.is((await rest.put(`/store/inventory/${petId}`, { quantity })).status, 200);
  }
  for (const id of ids) t.is((await rest.delete(`/store/orders/${id}`)).status, 204);
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 1_000_000_000);
});
