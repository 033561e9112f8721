/** Concurrent requests at two instances on one database: for the last unit, and with the same idempotency key. */
import { randomUUID } from 'node:crypto';
import { status as Code } from '@grpc/grpc-js';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import type { GrpcCaller } from '../support/grpc-caller.ts';
import { connectPostgres, postgresMissing, type TestPostgres } from '../support/postgres.ts';
import { createDataDir, type ServerProcess, startServerProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';

const ROUNDS = 50;
const RACES = 300;

interface Context {
  readonly server: TestPostgres;
  readonly folder: Awaited<ReturnType<typeof createDataDir>>;
  readonly instances: readonly [ServerProcess, ServerProcess];
}
const { serial: test, before, after } = testUnless<Context>(postgresMissing);

before(async (t) => {
  const [server, folder] = [await connectPostgres(), await createDataDir()];
  const DATABASE_URL = await server.createDatabase();
  const start = () => startServerProcess(folder.path, { DATABASE_URL });
  t.context = { server, folder, instances: [await start(), await start()] };
});
after.always(async ({ context: { instances = [], server, folder } }) => {
  for (const instance of instances) await instance.end('SIGKILL');
  await server?.stop();
  await folder?.remove();
});

const key = (name: string) => ({ metadata: { 'idempotency-key': name } });
const isReplayed = ({ headers }: Awaited<ReturnType<GrpcCaller['exchange']>>) =>
  headers.get('idempotency-replayed').length > 0;

test(`Last unit - exactly one of two concurrent orders at two instances gets it, ${RACES} times`, async (t) => {
  const [one, other] = t.context.instances;
  const petId = await one.grpc.pet();
  const wins = [0, 0];
  for (let round = 0; round < RACES; round += 1) {
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
  t.is((wins[0] ?? 0) + (wins[1] ?? 0), RACES);
  t.true(
    wins.every((count) => count > 0),
    `${wins}: they did not race`,
  );
  t.is((await other.grpc.call(Inventory.getInventoryItem, { petId })).quantity, 0);
});

test(`Two instances - of requests with one key one runs, and all get its response, ${ROUNDS} times`, async (t) => {
  const [one, other] = t.context.instances;
  const petId = await one.grpc.pet();
  for (let round = 0; round < ROUNDS; round += 1) {
    await one.grpc.call(Inventory.setInventory, { petId, inventory: { quantity: 1 } });
    const name = randomUUID();
    const calls = [one, other, one, other].map(({ grpc }) =>
      grpc.exchange(Orders.placeOrder, { order: { petId, complete: true } }, key(name)),
    );
    const responses = await Promise.all(calls);
    const ids = new Set(responses.map(({ message }) => message.id));
    if (ids.size !== 1) t.fail(`round ${round}: the orders ${[...ids]}`);
    if (responses.filter(isReplayed).length !== 3) t.fail(`round ${round}: expected three replays`);
  }
  const orders = new Set<bigint | undefined>();
  for (let pageToken = '', hasMore = true; hasMore; hasMore = pageToken !== '') {
    const page = await other.grpc.call(Orders.listOrders, { petId, limit: 100, pageToken });
    for (const { id } of page.orders) orders.add(id);
    pageToken = page.nextPageToken;
  }
  t.is(orders.size, ROUNDS);
});

test('Two instances - a response of one is replayed by the other', async (t) => {
  const [one, other] = t.context.instances;
  const name = randomUUID();
  const first = await one.grpc.exchange(Categories.createCategory, { category: { name } }, key(name));
  const again = await other.grpc.exchange(Categories.createCategory, { category: { name } }, key(name));
  t.deepEqual(again.message, first.message);
  t.true(isReplayed(again));
});

test('Two instances - of two different requests with one key one runs, the other is ALREADY_EXISTS', async (t) => {
  const [one, other] = t.context.instances;
  for (let round = 0; round < 20; round += 1) {
    const name = randomUUID();
    const settled = await Promise.allSettled([
      one.grpc.call(Categories.createCategory, { category: { name: 'One' } }, key(name)),
      other.grpc.call(Categories.createCategory, { category: { name: 'Other' } }, key(name)),
    ]);
    const reasons = settled.map((result) => (result.status === 'rejected' ? result.reason.code : 'carried out'));
    t.deepEqual(reasons.toSorted(), [Code.ALREADY_EXISTS, 'carried out']);
  }
});

test('Two instances - when the first request fails, the second one runs', async (t) => {
  const [one, other] = t.context.instances;
  const petId = await one.grpc.pet({ stock: 1 });
  for (let round = 0; round < 20; round += 1) {
    const name = randomUUID();
    const refused = one.grpc.failure(Orders.placeOrder, { order: { petId, quantity: 2 } }, key(name));
    const placed = other.grpc.exchange(Orders.placeOrder, { order: { quantity: 2 } }, key(name));
    const failure = await refused;
    const { message } = await placed;
    t.true(failure.reason === 'INSUFFICIENT_STOCK' || failure.reason === 'IDEMPOTENCY_KEY_REUSED', failure.reason);
    t.is(message.quantity, 2);
  }
  t.is((await one.grpc.call(Inventory.getInventoryItem, { petId })).quantity, 1);
});
