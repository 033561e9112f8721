/** Stock and status once through the whole. services/stock*.test.ts have every rule, and any history of them. */
import anyTest, { type TestFn } from 'ava';
import { isError } from '../../support/contract.ts';
import type { RestClient } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

/** Stock and status of a pet, which must be equal in its two resources. */
async function stockOf(rest: RestClient, petId: number): Promise<[quantity: number, status: string]> {
  const [entry, pet] = await Promise.all([rest.get(`/store/inventory/${petId}`), rest.get(`/pets/${petId}`)]);
  if (entry.body.status !== pet.body.status) throw new Error(`${entry.text} contradicts ${pet.text}`);
  return [entry.body.quantity, entry.body.status];
}

const change = (rest: RestClient, id: number, json: object) => rest.patch(`/store/orders/${id}`, json);
const cancel = (rest: RestClient, id: number) => rest.delete(`/store/orders/${id}`);
const restock = (rest: RestClient, id: number, quantity: number) => rest.put(`/store/inventory/${id}`, { quantity });
const setStatus = (rest: RestClient, id: number, status: string) => rest.patch(`/pets/${id}`, { status });

test('stock - an order takes its units; one without petId changes no stock', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 10 });
  await rest.order({ petId, quantity: 3 });
  t.deepEqual(await stockOf(rest, petId), [7, 'available']);
  await rest.order({ petId });
  await rest.order({ quantity: 1_000_000 });
  t.deepEqual(await stockOf(rest, petId), [6, 'available']);
});

test('stock - an order for more units than in stock is 409 INSUFFICIENT_STOCK, and changes nothing', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 3 });
  const message = `pet ${petId}: quantity 4 is more than the 3 in stock`;
  isError(t, await rest.post('/store/orders', { petId, quantity: 4 }), 409, 'INSUFFICIENT_STOCK', message);
  isError(t, await rest.post('/store/orders', { petId, quantity: 4, complete: true }), 409, 'INSUFFICIENT_STOCK');
  t.deepEqual((await rest.get(`/store/orders?petId=${petId}`)).body, []);
  t.deepEqual(await stockOf(rest, petId), [3, 'available']);
  const order = await rest.order({ petId, quantity: 2 });
  isError(t, await change(rest, order.id, { quantity: 4, complete: true }), 409, 'INSUFFICIENT_STOCK');
  t.deepEqual((await rest.get(`/store/orders/${order.id}`)).body, order);
  t.deepEqual(await stockOf(rest, petId), [1, 'available']);
});

test('stock - changing the quantity of an open order moves the difference', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 10 });
  const { id } = await rest.order({ petId, quantity: 4 });
  for (const [quantity, left] of [
    [9, 1],
    [2, 8],
    [2, 8],
    [10, 0],
  ] as const) {
    t.is((await change(rest, id, { quantity })).body.quantity, quantity);
    t.is((await stockOf(rest, petId))[0], left);
  }
});

test('stock - cancelling an open order returns its units', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 10 });
  const { id } = await rest.order({ petId, quantity: 4 });
  t.is((await cancel(rest, id)).status, 204);
  t.deepEqual(await stockOf(rest, petId), [10, 'available']);
  isError(t, await cancel(rest, id), 404, 'ORDER_NOT_FOUND');
  t.deepEqual(await stockOf(rest, petId), [10, 'available']); // once only
});

test('status - taking the last unit makes an available pet pending, and only an available one', async (t) => {
  const { rest } = t.context;
  for (const [before, after] of [
    ['available', 'pending'],
    ['pending', 'pending'],
    ['sold', 'sold'],
  ] as const) {
    const petId = await rest.pet({ stock: 2 });
    await setStatus(rest, petId, before);
    await rest.order({ petId, quantity: 1 });
    t.deepEqual(await stockOf(rest, petId), [1, before]);
    const order = await rest.order({ petId, quantity: 1 });
    t.deepEqual(await stockOf(rest, petId), [0, after]);
    t.false(order.complete);
  }
});

test('status - a pending pet is sold when no stock is left and its last open order is complete', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 3 });
  const [first, second] = [await rest.order({ petId, quantity: 1 }), await rest.order({ petId, quantity: 2 })];
  await change(rest, first.id, { complete: true });
  t.deepEqual(await stockOf(rest, petId), [0, 'pending']); // the other is still open
  await change(rest, second.id, { complete: true });
  t.deepEqual(await stockOf(rest, petId), [0, 'sold']);
});

test('status - an order placed complete takes its stock and closes in one step', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 3 });
  await rest.order({ petId, quantity: 1, complete: true });
  t.deepEqual(await stockOf(rest, petId), [2, 'available']);
  await rest.order({ petId, quantity: 2, complete: true });
  t.deepEqual(await stockOf(rest, petId), [0, 'sold']);
});

test('status - returned stock makes a pending or sold pet available', async (t) => {
  const { rest } = t.context;
  for (const status of ['pending', 'sold']) {
    for (const event of ['cancel', 'reduce', 'restock']) {
      const petId = await rest.pet({ stock: 2 });
      const { id } = await rest.order({ petId, quantity: 2 });
      await setStatus(rest, petId, status);
      if (event === 'cancel') await cancel(rest, id);
      if (event === 'reduce') await change(rest, id, { quantity: 1 });
      if (event === 'restock') await restock(rest, petId, 7);
      const left = { cancel: 2, reduce: 1, restock: 7 }[event];
      t.deepEqual(await stockOf(rest, petId), [left ?? 0, 'available'], `${status}, ${event}`);
    }
  }
});

test('status - setting the inventory to zero changes no status', async (t) => {
  const { rest } = t.context;
  for (const status of ['available', 'pending', 'sold']) {
    const petId = await rest.pet({ stock: 2 });
    await setStatus(rest, petId, status);
    t.deepEqual((await restock(rest, petId, 0)).body, { petId, quantity: 0, status });
    t.deepEqual(await stockOf(rest, petId), [0, status]);
  }
});

test('status - a status that a client has set stays until the next event', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const { id } = await rest.order({ petId, quantity: 2 });
  for (const status of ['sold', 'pending', 'sold']) {
    await setStatus(rest, petId, status);
    await rest.order({ petId, quantity: 1 }); // not the last unit
    await change(rest, id, { shipDate: '2027-01-02T03:04:05Z' });
    t.is((await stockOf(rest, petId))[1], status);
    await restock(rest, petId, 5);
    t.deepEqual(await stockOf(rest, petId), [5, 'available']);
  }
  await rest.order({ petId, quantity: 5 });
  await setStatus(rest, petId, 'available'); // even without stock
  t.deepEqual(await stockOf(rest, petId), [0, 'available']);
});
