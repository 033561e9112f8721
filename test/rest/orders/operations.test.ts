import anyTest, { type TestFn } from 'ava';
import { isError, isInvalid } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test('POST /store/orders - no field is required: quantity is 1 and complete is false', async (t) => {
  const { rest } = t.context;
  for (const json of [{}, undefined, { petId: null, quantity: null, shipDate: null, complete: null }]) {
    const { status, headers, body } = await rest.post('/store/orders', json);
    t.is(status, 201);
    t.is(headers.get('location'), `/store/orders/${body.id}`);
    t.deepEqual(body, { id: body.id, quantity: 1, complete: false });
    t.deepEqual((await rest.get(`/store/orders/${body.id}`)).body, body);
  }
});

test('POST /store/orders - returns 201 with every field that was given', async (t) => {
  const { rest } = t.context;
  const given = { petId: await rest.pet({ stock: 5 }), quantity: 3, shipDate: '2027-01-02T03:04:05Z', complete: true };
  const { status, headers, body } = await rest.post('/store/orders/', given);
  t.is(status, 201);
  t.is(headers.get('location'), `/store/orders/${body.id}`);
  t.deepEqual(body, { id: body.id, ...given });
  t.deepEqual((await rest.get(`/store/orders/${body.id}/`)).body, body);
});

test('POST /store/orders - a pet that does not exist is 400 UNKNOWN_PET, and no order is placed', async (t) => {
  const { rest } = t.context;
  for (const petId of [999_999, 0, -1]) {
    const response = await rest.post('/store/orders', { petId });
    isError(t, response, 400, 'UNKNOWN_PET', `petId: pet ${petId} does not exist`);
    t.deepEqual((await rest.get(`/store/orders?petId=${petId}`)).body, []);
  }
});

test('GET /store/orders - returns a bare array of orders in ascending order of id', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const first = await rest.order({ petId, shipDate: '2027-01-02T03:04:05Z' });
  const second = await rest.order({ petId, quantity: 2 });
  const { status, headers, body } = await rest.get(`/store/orders?petId=${petId}`);
  t.is(status, 200);
  t.is(headers.get('content-type'), 'application/json');
  t.deepEqual(body, [first, second]);
  t.true((await rest.get('/store/orders?limit=100')).body.length >= 2);
});

test('GET /store/orders - petId and complete filter the list, also together', async (t) => {
  const { rest } = t.context;
  const [petId, otherId] = [await rest.pet({ stock: 5 }), await rest.pet({ stock: 5 })];
  const open = await rest.order({ petId });
  const complete = await rest.order({ petId, complete: true });
  const other = await rest.order({ petId: otherId, complete: true });
  const list = async (query: string) => (await rest.get(`/store/orders?limit=100&${query}`)).body;
  t.deepEqual(await list(`petId=${petId}`), [open, complete]);
  t.deepEqual(await list(`petId=${petId}&complete=false`), [open]);
  t.deepEqual(await list(`complete=true&petId=${petId}`), [complete]);
  t.deepEqual(await list('petId=999999'), []);
  const allComplete: { id: number; complete: boolean }[] = await list('complete=true');
  t.true(allComplete.every(({ complete }) => complete));
  t.true([complete.id, other.id].every((id) => allComplete.some((order) => order.id === id)));
  t.true((await list('complete=false')).some(({ id }: { id: number }) => id === open.id));
});

test('PATCH /store/orders/{orderId} - changes only the fields in the body', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 9 });
  const { id } = await rest.order({ petId, quantity: 2 });
  let expected = { id, petId, quantity: 2, complete: false };
  const ship = { shipDate: '2027-01-02T03:04:05Z' };
  for (const patch of [{ quantity: 3 }, ship, {}, { complete: false }, { quantity: 4, complete: true }]) {
    expected = { ...expected, ...patch };
    const { status, body } = await rest.patch(`/store/orders/${id}`, patch);
    t.is(status, 200);
    t.deepEqual(body, expected);
  }
  t.deepEqual((await rest.get(`/store/orders/${id}`)).body, expected);
});

test('PATCH /store/orders/{orderId} - ignores petId and id in the body', async (t) => {
  const { rest } = t.context;
  const [petId, otherId] = [await rest.pet({ stock: 5 }), await rest.pet({ stock: 5 })];
  const order = await rest.order({ petId });
  t.deepEqual((await rest.patch(`/store/orders/${order.id}`, { id: 7, petId: otherId })).body, order);
  t.deepEqual((await rest.patch(`/store/orders/${order.id}`)).body, order);
});

test('PATCH /store/orders/{orderId} - a 400 names every field with a violation, and nothing changes', async (t) => {
  const { rest } = t.context;
  const order = await rest.order();
  isInvalid(t, await rest.patch(`/store/orders/${order.id}`, { quantity: 0, complete: true }), 'quantity');
  t.deepEqual((await rest.get(`/store/orders/${order.id}`)).body, order);
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
    for (const patch of [
      { complete: false },
      { quantity: 2 },
      { shipDate: '2027-01-02T03:04:05Z' },
      { complete: true },
    ]) {
      isError(t, await rest.patch(path, patch), 409, 'ORDER_COMPLETE', message);
    }
    isError(t, await rest.delete(path), 409, 'ORDER_COMPLETE', message);
    t.deepEqual((await rest.get(path)).body, order);
  }
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 4);
});
