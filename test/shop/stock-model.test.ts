/** Compares the services on a real database with a model: any history of a pet has the same results in both. */
import assert from 'node:assert/strict';
import anyTest, { type TestFn } from 'ava';
import fc from 'fast-check';
import { PetStatus as ProtoStatus } from '../../gen/petstore/v1/pets.ts';
import { ApiError } from '../../src/errors.ts';
import type { Store } from '../../src/schema.ts';
import { inventoryService } from '../../src/shop/inventory.ts';
import { type PetId, toPetId } from '../../src/shop/model.ts';
import { orderService } from '../../src/shop/orders.ts';
import { petService } from '../../src/shop/pets.ts';
import type { Request } from '../support/chaos/history.ts';
import { petModel } from '../support/chaos/pet-model.ts';
import { createTestStore } from '../support/database.ts';
import { aPet } from '../support/pets.ts';

const test = anyTest as TestFn<Store>;

test.before(async (t) => {
  t.context = await createTestStore();
});
test.after.always((t) => t.context.close());

const CONTEXT = { isCancelled: () => false };
const PET = { petId: 1 };
const quantity = fc.integer({ min: 1, max: 4 });
/** Which of the placed orders; some are none. */
const tag = fc.integer({ min: 0, max: 8 });
const one = <Fields>(weight: number, fields: fc.Arbitrary<Fields>) => ({ weight, arbitrary: fields });
const step: fc.Arbitrary<Request> = fc
  .oneof(
    one(5, fc.record({ do: fc.constant('placeOrder'), tag, quantity, complete: fc.boolean() })),
    one(
      5,
      fc.record(
        { do: fc.constant('updateOrder'), tag, quantity, complete: fc.boolean() },
        { requiredKeys: ['do', 'tag'] },
      ),
    ),
    one(2, fc.record({ do: fc.constant('cancelOrder'), tag })),
    one(2, fc.record({ do: fc.constant('setInventory'), quantity: fc.integer({ min: 0, max: 6 }) })),
    one(1, fc.record({ do: fc.constant('updatePet'), status: fc.constantFrom('available', 'pending', 'sold') })),
  )
  .map((fields) => ({ ...PET, orderId: 0, ...fields }));
/** Sets the stock to its maximum, or nearly. */
const full: fc.Arbitrary<Request> = fc
  .integer({ min: 999_999_994, max: 1_000_000_000 })
  .map((most) => ({ ...PET, do: 'setInventory', quantity: most }));
const unforced = step.filter(({ do: what }) => what !== 'updatePet');
const LENGTH = { minLength: 5, maxLength: 25 };
const history = fc.oneof(fc.array(step, LENGTH), fc.array(unforced, LENGTH));
const historyOfFullShop = fc.array(fc.oneof(unforced, full), LENGTH);

/** One new pet in the real shop. */
class RealShop {
  readonly #orders;
  readonly #inventory;
  readonly #pets;
  readonly petId: PetId;
  /** The ids of the orders that were placed, by their tags. */
  readonly #ids = new Map<number, bigint>();

  constructor(store: Store, petId: PetId) {
    this.#orders = orderService(store);
    this.#inventory = inventoryService(store);
    this.#pets = petService(store);
    this.petId = petId;
  }

  async run(request: Request): Promise<string> {
    try {
      await this.#execute(request);
      return 'ok';
    } catch (error) {
      if (error instanceof ApiError) return error.code;
      throw error;
    }
  }

  async item(): Promise<{ quantity: number; status: string }> {
    const { quantity, status } = await this.#inventory.getInventoryItem({ petId: this.petId }, CONTEXT);
    return { quantity, status: Object.entries(ProtoStatus).find(([, value]) => value === status)?.[0] ?? '' };
  }

  async unitsInOrders(): Promise<number> {
    const { orders } = await this.#orders.listOrders(
      { petId: this.petId, complete: undefined, limit: 100, pageToken: '' },
      CONTEXT,
    );
    return orders.reduce((sum, { quantity }) => sum + (quantity ?? 0), 0);
  }

  async #execute(request: Request): Promise<unknown> {
    const { petId } = this;
    switch (request.do) {
      case 'placeOrder': {
        const { quantity, complete } = request;
        const order = { id: undefined, petId, quantity, shipDate: undefined, complete };
        const { id } = await this.#orders.placeOrder({ order }, CONTEXT);
        return this.#ids.set(request.tag, id ?? 0n);
      }
      case 'updateOrder': {
        const order = { quantity: request.quantity, shipDate: undefined, complete: request.complete };
        return this.#orders.updateOrder({ orderId: this.#ids.get(request.tag) ?? -1n, order }, CONTEXT);
      }
      case 'cancelOrder':
        return this.#orders.cancelOrder({ orderId: this.#ids.get(request.tag) ?? -1n }, CONTEXT);
      case 'setInventory':
        return this.#inventory.setInventory({ petId, inventory: { quantity: request.quantity } }, CONTEXT);
      case 'updatePet': {
        const status = request.status && ProtoStatus[request.status];
        return this.#pets.updatePet({ petId, pet: { name: undefined, categoryId: undefined, status } }, CONTEXT);
      }
      default:
        throw new Error(`no history has ${request.do}`);
    }
  }
}

async function newPet(store: Store): Promise<PetId> {
  const pet = await store.transaction(async (tx) => {
    const { id: categoryId } = await tx.categories.insert({ name: 'Cats', description: undefined });
    return tx.pets.insert(aPet({ name: 'Tom', categoryId, status: 'available' }));
  });
  return pet?.id ?? toPetId(0n);
}

// `assert` and not `t` inside a property: fast-check then reports the smallest sequence that fails.
/** Runs histories in both. Resolves with the counts of each outcome and of each status of the pet. */
async function play(store: Store, histories: fc.Arbitrary<Request[]>, numRuns: number) {
  const outcomes = new Map<string, number>();
  const statuses = new Map<string, number>();
  const tally = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      const isForced = steps.some(({ do: what }) => what === 'updatePet');
      const model = petModel(PET.petId);
      const creation = { do: 'createPet', name: 'Tom', categoryId: 1 } as const;
      let { state } = model.step(model.initial, creation);
      const real = new RealShop(store, await newPet(store));
      let [placed, units] = [0, 0];
      for (const some of steps) {
        // A new order has the next tag.
        const request = some.do === 'placeOrder' ? { ...some, tag: placed } : some;
        const outcome = await real.run(request);
        const before = state.quantity;
        const { answer, ...next } = model.step(state, request);
        state = next.state;
        assert.equal(outcome, /^[A-Z_]+$/.test(answer) ? answer : 'ok', JSON.stringify(request));
        if (request.do === 'placeOrder' && outcome === 'ok') placed += 1;
        if (request.do === 'setInventory') units += state.quantity - before;
        const item = await real.item();
        assert.deepEqual(item, { quantity: state.quantity, status: state.status }, JSON.stringify(request));
        assert(item.quantity >= 0, 'stock was oversold');
        assert(item.quantity <= 1_000_000_000, 'the stock exceeds its maximum');
        assert(isForced || item.quantity === 0 || item.status === 'available', 'the status contradicts the stock');
        tally(outcomes, outcome);
        tally(statuses, item.status);
      }
      const { quantity } = await real.item();
      assert.equal(quantity + (await real.unitsInOrders()), units, 'a unit was lost');
    }),
    { numRuns, includeErrorInReport: true },
  );
  return { outcomes, statuses };
}

test('Model - any history of orders, inventory and status agrees with a model', async (t) => {
  const { outcomes, statuses } = await play(t.context, history, 250);
  for (const outcome of ['ok', 'INSUFFICIENT_STOCK', 'ORDER_COMPLETE', 'ORDER_NOT_FOUND']) {
    t.true((outcomes.get(outcome) ?? 0) > 20, `too one-sided: ${JSON.stringify([...outcomes])}`);
  }
  for (const status of ['available', 'pending', 'sold']) {
    t.true((statuses.get(status) ?? 0) > 20, `too one-sided: ${JSON.stringify([...statuses])}`);
  }
});

test('Model - at the maximum stock no cancel is refused and no unit is lost', async (t) => {
  const { outcomes } = await play(t.context, historyOfFullShop, 100);
  t.true((outcomes.get('INVALID_ARGUMENT') ?? 0) > 10, `too one-sided: ${JSON.stringify([...outcomes])}`);
});
