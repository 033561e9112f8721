import anyTest, { type TestFn } from 'ava';
import { isError, isInvalid } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test('PUT /pets/{petId} - replaces every field; an absent status becomes available', async (t) => {
  const { rest } = t.context;
  const [cats, dogs] = [await rest.category('Cats'), await rest.category('Dogs')];
  const id = await rest.pet({ categoryId: cats, name: 'Tom', status: 'sold' });
  const { status, body } = await rest.put(`/pets/${id}`, { name: 'Rex', categoryId: dogs });
  t.is(status, 200);
  t.deepEqual(body, { id, name: 'Rex', categoryId: dogs, status: 'available' });
  t.deepEqual((await rest.get(`/pets/${id}`)).body, body);
  t.is((await rest.put(`/pets/${id}/`, { ...body, status: 'pending' })).body.status, 'pending');
});

test('PUT /pets/{petId} - requires the same fields as POST, and changes nothing when it fails', async (t) => {
  const { rest } = t.context;
  const id = await rest.pet();
  const { body: before } = await rest.get(`/pets/${id}`);
  isInvalid(t, await rest.put(`/pets/${id}`, { status: 'sold' }), 'name', 'categoryId');
  isInvalid(t, await rest.put(`/pets/${id}`), 'name', 'categoryId');
  const elsewhere = { name: 'Rex', categoryId: 999_999, status: 'sold' };
  isError(t, await rest.put(`/pets/${id}`, elsewhere), 400, 'UNKNOWN_CATEGORY', /999999/);
  t.deepEqual((await rest.get(`/pets/${id}`)).body, before);
});

test('PATCH /pets/{petId} - changes only the fields in the body', async (t) => {
  const { rest } = t.context;
  const [cats, dogs] = [await rest.category('Cats'), await rest.category('Dogs')];
  const id = await rest.pet({ categoryId: cats, name: 'Tom', status: 'sold' });
  let expected = { id, name: 'Tom', categoryId: cats, status: 'sold' };
  for (const patch of [
    { name: 'Rex' },
    { categoryId: dogs },
    { status: 'pending' },
    {},
    { name: null, status: null },
  ]) {
    const named = Object.entries(patch).filter(([, value]) => value !== null);
    expected = { ...expected, ...Object.fromEntries(named) };
    const { status, body } = await rest.patch(`/pets/${id}`, patch);
    t.is(status, 200);
    t.deepEqual(body, expected);
  }
  t.deepEqual((await rest.patch(`/pets/${id}`)).body, expected); // a missing body changes nothing
  t.deepEqual((await rest.get(`/pets/${id}`)).body, expected);
});

test('PATCH /pets/{petId} - validates its fields like POST', async (t) => {
  const { rest } = t.context;
  const id = await rest.pet();
  isInvalid(t, await rest.patch(`/pets/${id}`, { name: '', status: 'PET_STATUS_UNSPECIFIED' }), 'name', 'status');
  isError(t, await rest.patch(`/pets/${id}`, { categoryId: 999_999 }), 400, 'UNKNOWN_CATEGORY');
});

test('PUT and PATCH /pets/{petId} - an unknown pet is 404 PET_NOT_FOUND, whatever the category', async (t) => {
  const { rest } = t.context;
  const message = 'pet 999999 does not exist';
  isError(t, await rest.put('/pets/999999', { name: 'Tom', categoryId: 999_999 }), 404, 'PET_NOT_FOUND', message);
  isError(t, await rest.patch('/pets/999999', { categoryId: 999_999 }), 404, 'PET_NOT_FOUND', message);
  isError(t, await rest.patch('/pets/999999', {}), 404, 'PET_NOT_FOUND', message);
});

test('PUT and PATCH /pets/{petId} - do not change the stock; the entry has the status of the pet', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const { body: pet } = await rest.get(`/pets/${petId}`);
  await rest.put(`/pets/${petId}`, { ...pet, status: 'sold' });
  t.deepEqual((await rest.get(`/store/inventory/${petId}`)).body, { petId, quantity: 5, status: 'sold' });
  await rest.patch(`/pets/${petId}`, { status: 'pending' });
  t.deepEqual((await rest.get(`/store/inventory/${petId}`)).body, { petId, quantity: 5, status: 'pending' });
});

test('DELETE /pets/{petId} - returns 204 without a body, and the pet is gone with its inventory entry', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const id = await rest.pet({ categoryId, stock: 3 });
  const { status, text, headers } = await rest.delete(`/pets/${id}`);
  t.is(status, 204);
  t.is(text, '');
  t.false(headers.has('content-type'));
  t.false(headers.has('content-length'));
  isError(t, await rest.get(`/pets/${id}`), 404, 'PET_NOT_FOUND');
  isError(t, await rest.get(`/store/inventory/${id}`), 404, 'INVENTORY_NOT_FOUND');
  isError(t, await rest.put(`/store/inventory/${id}`, { quantity: 1 }), 404, 'INVENTORY_NOT_FOUND');
  const { body: entries } = await rest.get('/store/inventory?limit=100');
  t.false(entries.some((entry: { petId: number }) => entry.petId === id));
  isError(t, await rest.delete(`/pets/${id}/`), 404, 'PET_NOT_FOUND', `pet ${id} does not exist`);
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
  t.is((await rest.get(`/pets/${petId}`)).status, 200);
  await rest.patch(`/store/orders/${second.id}`, { complete: true });
  t.is((await rest.delete(`/pets/${petId}`)).status, 204);
  for (const order of [complete, { ...second, complete: true }]) {
    t.deepEqual((await rest.get(`/store/orders/${order.id}`)).body, order); // complete orders stay
  }
  t.is((await rest.get(`/store/orders?petId=${petId}`)).body.length, 2);
  isError(t, await rest.patch(`/store/orders/${complete.id}`, { quantity: 1 }), 409, 'ORDER_COMPLETE');
  isError(t, await rest.delete(`/store/orders/${complete.id}`), 409, 'ORDER_COMPLETE');
});
