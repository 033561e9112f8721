import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Order } from '../../gen/petstore/v1/orders.ts';
import type { ErrorCode } from '../../src/error-table.ts';
import { ApiError } from '../../src/errors.ts';
import type { Store } from '../../src/schema.ts';
import type { PetId } from '../../src/shop/model.ts';
import { orderService } from '../../src/shop/orders.ts';
import { createTestStore } from '../support/database.ts';
import { aPet } from '../support/pets.ts';

const test = anyTest as TestFn<{ store: Store; orders: ReturnType<typeof orderService> }>;
type Test = ExecutionContext<{ store: Store; orders: ReturnType<typeof orderService> }>;

test.before(async (t) => {
  const store = await createTestStore();
  t.context = { store, orders: orderService(store) };
});
test.after.always((t) => t.context.store.close());

const CONTEXT = { isCancelled: () => false };
const NO_FIELDS = { id: undefined, petId: undefined, quantity: undefined, shipDate: undefined, complete: undefined };

function place(t: Test, fields: Partial<Order> = {}): Promise<Order> {
  return t.context.orders.placeOrder({ order: { ...NO_FIELDS, ...fields } }, CONTEXT);
}

function update(t: Test, order: Order, fields: Partial<Order>): Promise<Order> {
  return t.context.orders.updateOrder({ orderId: order.id ?? -1n, order: { ...NO_FIELDS, ...fields } }, CONTEXT);
}

async function refused(t: Test, code: ErrorCode, call: Promise<unknown>): Promise<ApiError> {
  const error = (await t.throwsAsync(call, { instanceOf: ApiError })) as ApiError;
  t.is(error.code, code);
  return error;
}

async function newPet({ context: { store } }: Test, quantity: number): Promise<PetId> {
  return store.transaction(async (tx) => {
    const { id: categoryId } = await tx.categories.insert({ name: 'Cats', description: undefined });
    const pet = await tx.pets.insert(aPet({ name: 'Tom', categoryId, status: 'available' }));
    if (pet === undefined) throw new Error('no pet');
    await tx.pets.update({ ...pet, quantity });
    return pet.id;
  });
}

const stockOf = async ({ context: { store } }: Test, petId: PetId) => (await store.pets.find(petId))?.quantity;

test('Placing - an order without fields has one unit, is open and has no pet', async (t) => {
  for (const placed of [await place(t), await t.context.orders.placeOrder({ order: undefined }, CONTEXT)]) {
    const { id, ...fields } = placed;
    t.true((id ?? 0n) > 0n);
    t.deepEqual(fields, { petId: undefined, quantity: 1, shipDate: undefined, complete: false });
  }
});

test('Placing - the id of the input is ignored', async (t) => {
  t.not((await place(t, { id: 999_999n })).id, 999_999n);
});

test('Placing - a refused order leaves neither an order nor a change of stock', async (t) => {
  const petId = await newPet(t, 3);
  const error = await refused(t, 'INSUFFICIENT_STOCK', place(t, { petId, quantity: 4 }));
  t.is(error.message, `pet ${petId}: quantity 4 is more than the 3 in stock`);
  const { orders } = await t.context.orders.listOrders(
    { petId, complete: undefined, limit: 1, pageToken: '' },
    CONTEXT,
  );
  t.deepEqual(orders, []);
  t.is(await stockOf(t, petId), 3);
});

test('Placing - a pet that does not exist is UNKNOWN_PET, however large its id', async (t) => {
  for (const petId of [999_999n, 0n, -1n, 2n ** 63n - 1n, -(2n ** 63n)]) {
    await refused(t, 'UNKNOWN_PET', place(t, { petId }));
  }
});

test('Placing - a ship date keeps every nanosecond of the years 1 to 9999', async (t) => {
  for (const shipDate of [
    { seconds: -62_135_596_800n, nanos: 0 },
    { seconds: 1_782_864_000n, nanos: 123_456_789 },
    { seconds: 253_402_300_799n, nanos: 999_999_999 },
  ]) {
    const { id } = await place(t, { shipDate });
    t.deepEqual((await t.context.orders.getOrder({ orderId: id ?? 0n }, CONTEXT)).shipDate, shipDate);
  }
});

test('Placing and changing - nanoseconds outside 0 to 999,999,999 are INVALID_ARGUMENT', async (t) => {
  const order = await place(t);
  for (const nanos of [-1, 1_000_000_000, 2 ** 31 - 1, -(2 ** 31)]) {
    const shipDate = { seconds: 0n, nanos };
    for (const call of [place(t, { shipDate }), update(t, order, { shipDate })]) {
      const { violations } = await refused(t, 'INVALID_ARGUMENT', call);
      t.deepEqual(
        violations.map(({ path, name }) => [path, name]),
        [['order.shipDate', 'shipDate']],
      );
    }
  }
});

test('Changing - only the fields of the patch change', async (t) => {
  const shipDate = { seconds: 1n, nanos: 2 };
  const order = await place(t, { quantity: 5, shipDate });
  t.deepEqual(await update(t, order, {}), order);
  t.deepEqual(await update(t, order, { quantity: 6 }), { ...order, quantity: 6 });
  const later = { seconds: 3n, nanos: 0 };
  t.deepEqual(await update(t, order, { shipDate: later }), { ...order, quantity: 6, shipDate: later });
});

test('Changing - a refused change leaves order and stock as they were', async (t) => {
  const petId = await newPet(t, 5);
  const order = await place(t, { petId, quantity: 2 });
  await refused(t, 'INSUFFICIENT_STOCK', update(t, order, { quantity: 6, complete: true }));
  t.deepEqual(await t.context.orders.getOrder({ orderId: order.id ?? 0n }, CONTEXT), order);
  t.is(await stockOf(t, petId), 3);
});

test('Changing - a complete order is not reopened, changed or cancelled', async (t) => {
  const petId = await newPet(t, 5);
  for (const order of [
    await place(t, { petId, complete: true }),
    await update(t, await place(t, { petId }), { complete: true }),
  ]) {
    for (const patch of [{ complete: false }, { quantity: 2 }, { complete: true }, {}]) {
      await refused(t, 'ORDER_COMPLETE', update(t, order, patch));
    }
    await refused(t, 'ORDER_COMPLETE', t.context.orders.cancelOrder({ orderId: order.id ?? 0n }, CONTEXT));
  }
  t.is(await stockOf(t, petId), 3);
});

test('Cancelling - the order is gone and its units are back', async (t) => {
  const petId = await newPet(t, 5);
  const { id: orderId = 0n } = await place(t, { petId, quantity: 5 });
  t.is(await stockOf(t, petId), 0);
  await t.context.orders.cancelOrder({ orderId }, CONTEXT);
  t.is(await stockOf(t, petId), 5);
  await refused(t, 'ORDER_NOT_FOUND', t.context.orders.getOrder({ orderId }, CONTEXT));
  await refused(t, 'ORDER_NOT_FOUND', t.context.orders.cancelOrder({ orderId }, CONTEXT));
});

test('Orders - an unknown id is ORDER_NOT_FOUND, however large, negative or zero', async (t) => {
  for (const orderId of [0n, -1n, 999_999n, 2n ** 63n - 1n, -(2n ** 63n)]) {
    await refused(t, 'ORDER_NOT_FOUND', t.context.orders.getOrder({ orderId }, CONTEXT));
    await refused(t, 'ORDER_NOT_FOUND', update(t, { ...NO_FIELDS, id: orderId }, { quantity: 1 }));
    await refused(t, 'ORDER_NOT_FOUND', t.context.orders.cancelOrder({ orderId }, CONTEXT));
  }
});
