/** Orders in the service: what REST can't send, and what a refused call leaves behind. */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Order } from '../../gen/petstore/v1/orders.ts';
import type { ErrorCode } from '../../src/error-table.ts';
import { ApiError } from '../../src/errors.ts';
import type { Store } from '../../src/schema.ts';
import type { PetId } from '../../src/shop/model.ts';
import { orderService } from '../../src/shop/orders.ts';
import { newPet } from '../storage/suite/database.ts';
import { createTestStore } from '../support/database.ts';

interface Context {
  readonly store: Store;
  readonly orders: ReturnType<typeof orderService>;
}
type Test = ExecutionContext<Context>;
const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const store = await createTestStore();
  t.context = { store, orders: orderService(store) };
});
test.after.always((t) => t.context.store.close());

const CALL = { isCancelled: () => false };
const NO_FIELDS = { id: undefined, petId: undefined, quantity: undefined, shipDate: undefined, complete: undefined };
/** Ids that do not exist. */
const MISSING = [0n, -1n, 999_999n, 2n ** 63n - 1n, -(2n ** 63n)];

function place(t: Test, fields: Partial<Order> = {}): Promise<Order> {
  return t.context.orders.placeOrder({ order: { ...NO_FIELDS, ...fields } }, CALL);
}

function update(t: Test, { id: orderId = -1n }: Order, fields: Partial<Order>): Promise<Order> {
  return t.context.orders.updateOrder({ orderId, order: { ...NO_FIELDS, ...fields } }, CALL);
}

async function refused(t: Test, code: ErrorCode, call: Promise<unknown>): Promise<ApiError> {
  const error = (await t.throwsAsync(call, { instanceOf: ApiError })) as ApiError;
  t.is(error.code, code);
  return error;
}

/** The orders of a pet, and its stock. */
async function ordersAndStock({ context: { store, orders } }: Test, petId: PetId) {
  const request = { petId, complete: undefined, limit: 10, pageToken: '' };
  return [(await orders.listOrders(request, CALL)).orders, (await store.pets.find(petId))?.quantity];
}

test('Placing - without fields, or without an order, it is one unit, open and without a pet', async (t) => {
  for (const placed of [
    await place(t, { id: 999_999n }),
    await t.context.orders.placeOrder({ order: undefined }, CALL),
  ]) {
    t.deepEqual(placed, { ...NO_FIELDS, id: placed.id, quantity: 1, complete: false });
    t.not(placed.id, 999_999n);
  }
});

test('Orders - a pet or an order that does not exist is refused, however large its id, negative or zero', async (t) => {
  for (const id of MISSING) {
    await refused(t, 'UNKNOWN_PET', place(t, { petId: id }));
    await refused(t, 'ORDER_NOT_FOUND', t.context.orders.getOrder({ orderId: id }, CALL));
    await refused(t, 'ORDER_NOT_FOUND', update(t, { ...NO_FIELDS, id }, { quantity: 1 }));
    await refused(t, 'ORDER_NOT_FOUND', t.context.orders.cancelOrder({ orderId: id }, CALL));
  }
});

test('Orders - nanoseconds outside 0 to 999,999,999 are INVALID_ARGUMENT', async (t) => {
  const order = await place(t);
  for (const nanos of [-1, 1_000_000_000, 2 ** 31 - 1, -(2 ** 31)]) {
    const shipDate = { seconds: 0n, nanos };
    for (const call of [place(t, { shipDate }), update(t, order, { shipDate })]) {
      const { violations } = await refused(t, 'INVALID_ARGUMENT', call);
      t.like(violations, [{ path: 'order.shipDate', name: 'shipDate' }]);
    }
  }
});

test('Changing - only the fields of the patch change', async (t) => {
  let order = await place(t, { quantity: 5, shipDate: { seconds: 1n, nanos: 2 } });
  for (const patch of [{}, { quantity: 6 }, { shipDate: { seconds: 3n, nanos: 0 } }]) {
    t.deepEqual(await update(t, order, patch), { ...order, ...patch });
    order = { ...order, ...patch };
  }
});

test('Orders - a refused order or change, or a complete order, leaves orders and stock as they were', async (t) => {
  const { id: petId } = await newPet(t.context.store, { quantity: 5 });
  const order = await place(t, { petId, quantity: 2 });
  const { message } = await refused(t, 'INSUFFICIENT_STOCK', place(t, { petId, quantity: 4 }));
  t.is(message, `pet ${petId}: quantity 4 is more than the 3 in stock`);
  await refused(t, 'INSUFFICIENT_STOCK', update(t, order, { quantity: 6, complete: true }));
  t.deepEqual(await ordersAndStock(t, petId), [[order], 3]);
  const complete = await update(t, order, { complete: true });
  for (const patch of [{ complete: false }, { quantity: 3 }, { complete: true }, {}]) {
    await refused(t, 'ORDER_COMPLETE', update(t, order, patch));
  }
  await refused(t, 'ORDER_COMPLETE', t.context.orders.cancelOrder({ orderId: order.id ?? 0n }, CALL));
  t.deepEqual(await ordersAndStock(t, petId), [[complete], 3]);
});
