/** Stock and status through the whole: what becomes of a pet. test/shop has every rule, and any history of them. */
import anyTest, { type TestFn } from 'ava';
import { isError } from '../support/contract.ts';
import type { RestClient } from '../support/rest-client.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

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

interface World {
  readonly rest: RestClient;
  readonly petId: number;
  /** The ids of the orders, in the order in which the story places them. */
  readonly orders: number[];
}
type Step = (world: World) => Promise<unknown>;

const place = (quantity: number, fields: object = {}): Step => {
  return async ({ rest, petId, orders }) => orders.push((await rest.order({ petId, quantity, ...fields })).id);
};
const change = (json: object, order = 0): Step => {
  return ({ rest, orders }) => rest.patch(`/store/orders/${orders[order]}`, json);
};
const cancel: Step = ({ rest, orders }) => rest.delete(`/store/orders/${orders[0]}`);
const restock = (quantity: number): Step => {
  return ({ rest, petId }) => rest.put(`/store/inventory/${petId}`, { quantity });
};
const setStatus = (status: string): Step => {
  return ({ rest, petId }) => rest.patch(`/pets/${petId}`, { status });
};
const elsewhere: Step = ({ rest }) => rest.order({ quantity: 1_000_000 });

/** What happens to a pet with this stock, with stock and status after each step. */
function story(title: string, stock: number, ...steps: readonly (readonly [Step, number, string])[]): void {
  test(title, async (t) => {
    const { rest } = t.context;
    const world = { rest, petId: await rest.pet({ stock }), orders: [] };
    for (const [index, [step, quantity, status]] of steps.entries()) {
      await step(world);
      t.deepEqual(await stockOf(rest, world.petId), [quantity, status], `step ${index + 1}`);
    }
  });
}

story(
  'stock - an order takes its units; one without petId changes no stock',
  10,
  [place(3), 7, 'available'],
  [elsewhere, 7, 'available'],
);
story(
  'stock - changing the quantity of an open order moves the difference',
  10,
  [place(4), 6, 'available'],
  [change({ quantity: 9 }), 1, 'available'],
  [change({ quantity: 2 }), 8, 'available'],
  [change({ quantity: 10 }), 0, 'pending'],
);
story(
  'stock - cancelling an open order returns its units',
  10,
  [place(4), 6, 'available'],
  [cancel, 10, 'available'],
  [cancel, 10, 'available'], // once only
);
story(
  'stock - the inventory is what is left without the units of open orders',
  5,
  [place(2), 3, 'available'],
  [restock(1), 1, 'available'],
  [cancel, 3, 'available'],
);
story(
  'status - taking the last unit makes an available pet pending, and only an available one',
  2,
  [place(1), 1, 'available'],
  [place(1), 0, 'pending'],
  [restock(1), 1, 'available'],
  [setStatus('sold'), 1, 'sold'],
  [place(1), 0, 'sold'],
);
story(
  'status - a pending pet is sold when no stock is left and its last open order is complete',
  3,
  [place(1), 2, 'available'],
  [place(2), 0, 'pending'],
  [change({ complete: true }), 0, 'pending'], // the other is still open
  [change({ complete: true }, 1), 0, 'sold'],
);
story(
  'status - an order placed complete takes its stock and closes in one step',
  3,
  [place(1, { complete: true }), 2, 'available'],
  [place(2, { complete: true }), 0, 'sold'],
);
for (const status of ['pending', 'sold']) {
  for (const [event, step, left] of [
    ['a cancelled order', cancel, 2],
    ['a reduced order', change({ quantity: 1 }), 1],
    ['new stock', restock(7), 7],
  ] as const) {
    story(
      `status - returned stock makes a pending or sold pet available: ${status}, ${event}`,
      2,
      [place(2), 0, 'pending'],
      [setStatus(status), 0, status],
      [step, left, 'available'],
    );
  }
}
for (const status of ['available', 'pending', 'sold']) {
  story(
    `status - setting the inventory to zero changes no status: ${status}`,
    2,
    [setStatus(status), 2, status],
    [restock(0), 0, status],
  );
}
story(
  'status - a status that a client has set stays until the next event',
  5,
  [place(2), 3, 'available'],
  [setStatus('sold'), 3, 'sold'],
  [place(1), 2, 'sold'], // not the last unit
  [change({ shipDate: '2027-01-02T03:04:05Z' }), 2, 'sold'],
  [restock(5), 5, 'available'],
  [place(5), 0, 'pending'],
  [setStatus('available'), 0, 'available'], // even without stock
);

test('stock - an order for more units than in stock is 409 INSUFFICIENT_STOCK, and changes nothing', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 3 });
  const message = `pet ${petId}: quantity 4 is more than the 3 in stock`;
  isError(t, await rest.post('/store/orders', { petId, quantity: 4 }), 409, 'INSUFFICIENT_STOCK', message);
  const order = await rest.order({ petId, quantity: 2 });
  const change = await rest.patch(`/store/orders/${order.id}`, { quantity: 4, complete: true });
  isError(t, change, 409, 'INSUFFICIENT_STOCK');
  t.deepEqual((await rest.get(`/store/orders?petId=${petId}`)).body, [order]);
  t.deepEqual(await stockOf(rest, petId), [1, 'available']);
});
