/** Two instances on one database, after the same unit. */

import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { connectPostgres, postgresMissing, type TestPostgres } from '../support/postgres.ts';
import { createDataDir, type ServerProcess, startServerProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';

const ROUNDS = 1_000;

interface Context {
  readonly server: TestPostgres;
  readonly url: string;
  readonly folder: Awaited<ReturnType<typeof createDataDir>>;
  readonly instances: readonly [ServerProcess, ServerProcess];
}
const test = testUnless<Context>(postgresMissing);

test.before(async (t) => {
  const server = await connectPostgres();
  const folder = await createDataDir();
  const url = await server.createDatabase();
  const start = () => startServerProcess(folder.path, { DATABASE_URL: url });
  t.context = { server, url, folder, instances: [await start(), await start()] };
});
test.after.always(async (t) => {
  const { instances = [], server, url, folder } = t.context;
  for (const instance of instances) await instance.end('SIGKILL');
  await server?.dropDatabase(url);
  await server?.stop();
  await folder?.remove();
});

test(`The last unit - of two instances that race for it ${ROUNDS} times one gets it, each time, and the other is told`, async (t) => {
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
