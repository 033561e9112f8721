/** kill -9 of the server: every acknowledged write exists after the next start, and a retried one exists once. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CategoryServiceService as Categories, type Category } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { type Order, OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { GrpcCaller } from '../support/calls/grpc-caller.ts';
import { freePorts } from '../support/machine/ports.ts';
import { TcpProxy } from '../support/machine/tcp-proxy.ts';
import { type ServerProcess, TestProcess } from '../support/service/process.ts';
import { until } from '../support/until.ts';
import { start, test } from './server-processes.ts';

const key = (name: string) => ({ metadata: { 'idempotency-key': name } });

test('kill -9 - between commit and response: a retry gets the first response, with no second write', async (t) => {
  const first = await start(t);
  const petId = await first.grpc.pet({ stock: 5 });
  const proxy = await TcpProxy.open(Number(first.address.split(':')[1]));
  const caller = new GrpcCaller(`127.0.0.1:${proxy.port}`, first.key);
  await caller.category(); // opens the connection
  proxy.dropResponses();
  const request = { order: { petId, quantity: 2 } };
  const unanswered = caller.failure(Orders.placeOrder, request, key('a'));
  const stock = async ({ grpc }: ServerProcess) => (await grpc.call(Inventory.getInventoryItem, { petId })).quantity;
  await until(async () => (await stock(first)) === 3, 'the commit');
  await first.end('SIGKILL');
  await proxy.close();
  t.truthy(await unanswered);
  caller.close();

  const second = await start(t);
  const again = await second.grpc.exchange(Orders.placeOrder, request, key('a'));
  t.deepEqual(again.headers.get('idempotency-replayed'), ['true']);
  const placed = await second.grpc.call(Orders.listOrders, { petId, pageToken: '' });
  t.deepEqual(placed.orders, [again.message]);
  t.is(await stock(second), 3);
});

/** The writes that servers have acknowledged. */
class Acknowledged {
  readonly categories: Category[] = [];
  /** The names of categories that got no response. They are also idempotency keys. */
  unanswered: string[] = [];
  /** Orders as last acknowledged, by id. */
  readonly orders = new Map<bigint, Order>();
  /** Orders with an unacknowledged change when the server died: either state is right. */
  readonly uncertain = new Set<bigint>();
}

function create({ grpc }: ServerProcess, name: string): Promise<Category> {
  return grpc.call(Categories.createCategory, { category: { name, description: `of ${name}` } }, key(name));
}

/** Writes until a call fails. */
async function writeUntilFailure(server: ServerProcess, petId: bigint, acknowledged: Acknowledged): Promise<void> {
  let name: string | undefined;
  let changing: bigint | undefined;
  try {
    for (let count = 0; ; count += 1) {
      name = randomUUID();
      acknowledged.categories.push(await create(server, name));
      name = undefined;
      const placed = await server.grpc.call(Orders.placeOrder, { order: { petId, quantity: (count % 3) + 1 } });
      changing = placed.id ?? -1n;
      acknowledged.orders.set(changing, placed);
      const patch = { orderId: changing, order: { quantity: 5, complete: count % 2 === 0 } };
      acknowledged.orders.set(changing, await server.grpc.call(Orders.updateOrder, patch));
      changing = undefined;
    }
  } catch {
    if (name !== undefined) acknowledged.unanswered.push(name);
    if (changing !== undefined) acknowledged.uncertain.add(changing);
  }
}

const STOCK = 1_000_000;

test('kill -9 - during writes, repeatedly, loses no acknowledged write; a retry writes nothing twice', async (t) => {
  let server = await start(t);
  const petId = await server.grpc.pet({ stock: STOCK });
  const acknowledged = new Acknowledged();
  for (let round = 1; round <= 3; round += 1) {
    const writers = Array.from({ length: 16 }, () => writeUntilFailure(server, petId, acknowledged));
    await until(() => acknowledged.categories.length > round * 150, 'the writes of the round');
    await server.end('SIGKILL');
    await Promise.all(writers);

    server = await start(t);
    for (const name of acknowledged.unanswered) acknowledged.categories.push(await create(server, name));
    acknowledged.unanswered = [];
    const stored = await readAll(server);
    const [, ...categories] = stored.categories.toSorted(byId); // the first one is the pet's
    assert.deepEqual(categories, acknowledged.categories.toSorted(byId));
    const orders = new Map(stored.orders.map((order) => [order.id ?? -1n, order]));
    for (const [orderId, order] of acknowledged.orders) {
      const found = orders.get(orderId);
      if (found !== undefined && acknowledged.uncertain.has(orderId)) acknowledged.orders.set(orderId, found);
      else assert.deepEqual(found, order);
    }
    acknowledged.uncertain.clear();
    const { quantity } = await server.grpc.call(Inventory.getInventoryItem, { petId });
    const ordered = stored.orders.reduce((sum, order) => sum + (order.quantity ?? 0), 0);
    t.is(quantity + ordered, STOCK, 'stock and orders add up, with unacknowledged orders too');
  }
});

function byId(a: Category, b: Category): number {
  return Number(a.id - b.id);
}

/** Every category and order that a server has. */
async function readAll({ grpc }: ServerProcess) {
  const categories: Category[] = [];
  const orders: Order[] = [];
  let pageToken = '';
  do {
    const page = await grpc.call(Categories.listCategories, { limit: 100, pageToken });
    categories.push(...page.categories);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  do {
    const page = await grpc.call(Orders.listOrders, { limit: 100, pageToken });
    orders.push(...page.orders);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return { categories, orders };
}

for (const file of ['petstore.sqlite-wal', 'demo.key']) {
  test(`kill -9 - during the first start, when ${file} appears: the next start succeeds`, async (t) => {
    const { dataDir } = t.context;
    const [port] = await freePorts(1);
    const first = new TestProcess('src/main.ts', { DATA_DIR: dataDir, GRPC_PORT: String(port) });
    await until(() => existsSync(join(dataDir, file)), file).finally(() => first.end('SIGKILL'));
    t.truthy(await (await start(t)).grpc.category());
  });
}
