/** Compares the services on a real database with a model: any history of a pet has the same results in both. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { PetStatus as ProtoStatus } from '../../gen/petstore/v1/pets.ts';
import { ApiError } from '../../src/platform/errors.ts';
import type { Store } from '../../src/schema.ts';
import { inventoryService } from '../../src/shop/inventory/service.ts';
import { orderService } from '../../src/shop/orders/service.ts';
import { petService } from '../../src/shop/pets/service.ts';
import { PET_STATUSES, type PetId } from '../../src/shop/pets/table.ts';
import { newPet } from '../storage/suite/database.ts';
import { createTestStore } from '../support/machine/database.ts';
import { CONTEXT } from '../support/service/call.ts';
import { sharing } from '../support/service/sharing.ts';
import { NEW_PET, type Request, step } from './pet-model.ts';

const test = sharing(undefined, createTestStore);

const quantity = fc.integer({ min: 1, max: 4 });
/** Which of the placed orders; some are none. */
const tag = fc.integer({ min: 0, max: 8 });
const one = <Fields>(weight: number, fields: fc.Arbitrary<Fields>) => ({ weight, arbitrary: fields });
const request: fc.Arbitrary<Request> = fc.oneof(
  one(5, fc.record({ do: fc.constant('placeOrder'), tag, quantity, complete: fc.boolean() })),
  one(
    5,
    fc.record(
      { do: fc.constant('updateOrder'), tag, quantity, complete: fc.boolean() },
      { requiredKeys: ['do', 'tag'] },
    ),
  ),
  one(2, fc.record({ do: fc.constant('cancelOrder'), tag })),
  one(2, fc.record({ do: fc.constant('setInventory'), quantity: fc.constantFrom(0, 0, 1, 3, 6) })),
  one(3, fc.record({ do: fc.constant('updatePet'), status: fc.constantFrom('available', 'pending', 'sold') })),
);
/** Sets the stock to its maximum, or nearly. */
const full: fc.Arbitrary<Request> = fc
  .integer({ min: 999_999_994, max: 1_000_000_000 })
  .map((most) => ({ do: 'setInventory', quantity: most }));
const unforced = request.filter(({ do: what }) => what !== 'updatePet');
const LENGTH = { minLength: 5, maxLength: 25 };
const history = fc.oneof(...[request, unforced, fc.oneof(unforced, full)].map((one) => fc.array(one, LENGTH)));

function realShop(store: Store, petId: PetId) {
  const [orders, inventory, pets] = [orderService(store), inventoryService(store), petService(store)];
  const ids = new Map<number, bigint>();
  const execute = async (request: Request): Promise<unknown> => {
    const orderId = ('tag' in request ? ids.get(request.tag) : undefined) ?? -1n;
    switch (request.do) {
      case 'placeOrder': {
        const { quantity, complete } = request;
        const order = { id: undefined, petId, quantity, shipDate: undefined, complete };
        const { id } = await orders.placeOrder({ order }, CONTEXT);
        return ids.set(request.tag, id ?? 0n);
      }
      case 'updateOrder': {
        const { quantity, complete } = request;
        return orders.updateOrder({ orderId, order: { quantity, shipDate: undefined, complete } }, CONTEXT);
      }
      case 'cancelOrder':
        return orders.cancelOrder({ orderId }, CONTEXT);
      case 'setInventory':
        return inventory.setInventory({ petId, inventory: { quantity: request.quantity } }, CONTEXT);
      case 'updatePet': {
        const status = ProtoStatus[request.status];
        return pets.updatePet({ petId, pet: { name: undefined, categoryId: undefined, status } }, CONTEXT);
      }
    }
  };
  return {
    run: (request: Request): Promise<string> =>
      execute(request).then(
        () => 'ok',
        (error: unknown) => (error instanceof ApiError ? error.code : Promise.reject(error)),
      ),
    async item(): Promise<{ quantity: number; status: string | undefined }> {
      const { quantity, status } = await inventory.getInventoryItem({ petId }, CONTEXT);
      return { quantity, status: PET_STATUSES.find((name) => ProtoStatus[name] === status) };
    },
    async unitsInOrders(): Promise<number> {
      const all = { petId, complete: undefined, limit: 100, pageToken: '' };
      return (await orders.listOrders(all, CONTEXT)).orders.reduce((sum, { quantity = 0 }) => sum + quantity, 0);
    },
  };
}

test('Model - any history of orders, inventory and status agrees with a model', async (t) => {
  const store = t.context;
  const outcomes = new Map<string, number>();
  const statuses = new Map<string, number>();
  const tally = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  // `assert` and not `t` inside a property: fast-check then reports the smallest sequence that fails.
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const isForced = steps.some(({ do: what }) => what === 'updatePet');
      let state = NEW_PET;
      const real = realShop(store, (await newPet(store)).id);
      let [placed, units] = [0, 0];
      for (const some of steps) {
        // A new order has the next tag. Others are of one of the orders, or of none.
        const isNew = some.do === 'placeOrder';
        const request = 'tag' in some ? { ...some, tag: isNew ? placed : some.tag % (placed + 1) } : some;
        const outcome = await real.run(request);
        const before = state.quantity;
        const next = step(state, request);
        assert.equal(outcome, typeof next === 'string' ? next : 'ok', JSON.stringify(request));
        if (typeof next !== 'string') state = next;
        if (request.do === 'placeOrder' && outcome === 'ok') placed += 1;
        if (request.do === 'setInventory') units += state.quantity - before;
        const item = await real.item();
        assert.deepEqual(item, { quantity: state.quantity, status: state.status }, JSON.stringify(request));
        assert(item.quantity >= 0, 'stock was oversold');
        assert(item.quantity <= 1_000_000_000, 'the stock exceeds its maximum');
        assert(isForced || item.quantity === 0 || item.status === 'available', 'the status contradicts the stock');
        tally(outcomes, outcome);
        tally(statuses, state.status);
      }
      const { quantity } = await real.item();
      assert.equal(quantity + (await real.unitsInOrders()), units, 'a unit was lost');
    }),
    { numRuns: 600, includeErrorInReport: true },
  );
  for (const [counts, ...names] of [
    [outcomes, 'ok', 'INSUFFICIENT_STOCK', 'ORDER_COMPLETE', 'ORDER_NOT_FOUND', 'INVALID_ARGUMENT'],
    [statuses, 'available', 'pending', 'sold'],
  ] as const) {
    for (const name of names) t.true((counts.get(name) ?? 0) > 20, `too one-sided: ${JSON.stringify([...counts])}`);
  }
});
