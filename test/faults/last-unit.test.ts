/** Concurrent orders for the same unit at two instances on one database. */
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { testWithTwoInstances } from '../support/two-instances.ts';

const ROUNDS = 1_000;

const test = testWithTwoInstances();

test(`Last unit - exactly one of two concurrent orders at two instances gets it, ${ROUNDS} times`, async (t) => {
  const [one, other] = t.context.instances;
  const petId = await one.grpc.pet();
  const wins = [0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    await one.grpc.call(Inventory.setInventory, { petId, inventory: { quantity: 1 } });
    const attempts = await Promise.allSettled(
      [one, other].map(({ grpc }) => grpc.call(Orders.placeOrder, { order: { petId } })),
    );
    const winner = attempts.findIndex(({ status }) => status === 'fulfilled');
    const loser = attempts[1 - winner];
    const reason = loser?.status === 'rejected' ? loser.reason.details : 'won too';
    if (reason !== `pet ${petId}: quantity 1 is more than the 0 in stock`) t.fail(`round ${round}: ${reason}`);
    wins[winner] = (wins[winner] ?? 0) + 1;
  }
  t.is((wins[0] ?? 0) + (wins[1] ?? 0), ROUNDS);
  t.true(
    wins.every((count) => count > 0),
    `${wins}: they did not race`,
  );
  t.is((await other.grpc.call(Inventory.getInventoryItem, { petId })).quantity, 0);
});
