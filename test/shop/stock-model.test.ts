/** Compares the services on a real database with a naive shop: any history of a pet has the same results in both. */
import assert from 'node:assert/strict';
import anyTest, { type TestFn } from 'ava';
import fc from 'fast-check';
import { PetStatus as ProtoStatus } from '../../gen/petstore/v1/pets.ts';
import { ApiError } from '../../src/errors.ts';
import type { Store } from '../../src/schema.ts';
import { inventoryService } from '../../src/shop/inventory.ts';
import { type PetId, type PetStatus, toPetId } from '../../src/shop/model.ts';
import { orderService } from '../../src/shop/orders.ts';
import { petService } from '../../src/shop/pets.ts';
import { createTestStore } from '../support/database.ts';
import { NaiveShop, type Step } from '../support/naive-shop.ts';
import { aPet } from '../support/pets.ts';

const test = anyTest as TestFn<Store>;

test.before(async (t) => {
  t.context = await createTestStore();
});
test.after.always((t) => t.context.close());

const CONTEXT = { isCancelled: () => false };
const quantity = fc.integer({ min: 1, max: 4 });
const order = fc.integer({ min: 0, max: 8 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('place'), quantity, complete: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record(
      { do: fc.constant('change'), order, quantity, complete: fc.boolean() },
      { requiredKeys: ['do', 'order'] },
    ),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel'), order }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('setInventory'), quantity: fc.integer({ min: 0, max: 6 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('setStatus'),
      status: fc.constantFrom<PetStatus>('available', 'pending', 'sold'),
    }),
  },
);
/** Sets the stock to its maximum, or nearly. */
const full = fc.record({
  do: fc.constant('setInventory' as const),
  quantity: fc.integer({ min: 999_999_994, max: 1_000_000_000 }),
});
const unforced = step.filter((one) => one.do !== 'setStatus');
const LENGTH = { minLength: 5, maxLength: 25 };
const history = fc.oneof(fc.array(step, LENGTH), fc.array(unforced, LENGTH));
const historyOfFullShop = fc.array(fc.oneof(unforced, full), LENGTH);

/** One new pet in the real shop. */
class RealShop {
  readonly #orders;
  readonly #inventory;
  readonly #pets;
  readonly petId: PetId;
  /** The ids of the orders that were placed, in order. */
  readonly #ids: bigint[] = [];

  constructor(store: Store, petId: PetId) {
    this.#orders = orderService(store);
    this.#inventory = inventoryService(store);
    this.#pets = petService(store);
    this.petId = petId;
  }

  async run(step: Step): Promise<string> {
    try {
      await this.#execute(step);
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

  async #execute(step: Step): Promise<unknown> {
    const { petId } = this;
    switch (step.do) {
      case 'place': {
        const fields = { id: undefined, petId, quantity: step.quantity, shipDate: undefined, complete: step.complete };
        const { id } = await this.#orders.placeOrder({ order: fields }, CONTEXT);
        return this.#ids.push(id ?? 0n);
      }
      case 'change': {
        const patch = { quantity: step.quantity, shipDate: undefined, complete: step.complete };
        return this.#orders.updateOrder({ orderId: this.#ids[step.order] ?? -1n, order: patch }, CONTEXT);
      }
      case 'cancel':
        return this.#orders.cancelOrder({ orderId: this.#ids[step.order] ?? -1n }, CONTEXT);
      case 'setInventory':
        return this.#inventory.setInventory({ petId, inventory: { quantity: step.quantity } }, CONTEXT);
      case 'setStatus': {
        const patch = { name: undefined, categoryId: undefined, status: ProtoStatus[step.status] };
        return this.#pets.updatePet({ petId, pet: patch }, CONTEXT);
      }
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
/** Runs histories in both shops. Resolves with the counts of each outcome and of each status of the pet. */
async function play(store: Store, histories: fc.Arbitrary<Step[]>, numRuns: number) {
  const outcomes = new Map<string, number>();
  const statuses = new Map<string, number>();
  const tally = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      const isForced = steps.some((one) => one.do === 'setStatus');
      const naive = new NaiveShop();
      const real = new RealShop(store, await newPet(store));
      for (const one of steps) {
        const outcome = await real.run(one);
        assert.equal(outcome, naive.run(one), JSON.stringify(one));
        const item = await real.item();
        assert.deepEqual(item, { quantity: naive.stock, status: naive.status }, JSON.stringify(one));
        assert(item.quantity >= 0, 'stock was oversold');
        assert(item.quantity <= 1_000_000_000, 'the stock exceeds its maximum');
        assert(isForced || item.quantity === 0 || item.status === 'available', 'the status contradicts the stock');
        tally(outcomes, outcome);
        tally(statuses, item.status);
      }
      assert.equal(naive.stock + naive.unitsInOrders(), naive.adjustments, 'the naive shop lost a unit');
      const { quantity } = await real.item();
      assert.equal(quantity + (await real.unitsInOrders()), naive.adjustments, 'a unit was lost');
    }),
    { numRuns, includeErrorInReport: true },
  );
  return { outcomes, statuses };
}

test('Model - any history of orders, inventory and status agrees with a naive implementation', async (t) => {
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
