/** The server process killed without warning: what was answered is there when it is started again. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CategoryServiceService as Categories, type Category } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { type Order, OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { freePorts } from '../support/ports.ts';
import { type ServerProcess, TestProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { start, test } from './server-processes.ts';

/** Everything that a server has answered. */
class Answered {
  readonly categories: Category[] = [];
  /** Orders as last answered, by id. */
  readonly orders = new Map<bigint, Order>();
  /** Orders with a change on its way when the server died: either state is right. */
  readonly uncertain = new Set<bigint>();
}

/** Writes until the server is gone. */
async function writeOn({ grpc }: ServerProcess, petId: bigint, answered: Answered): Promise<void> {
  let changing: bigint | undefined;
  try {
    for (let count = 0; ; count += 1) {
      const category = { name: `Kind ${count}`, description: `of ${count}` };
      answered.categories.push(await grpc.call(Categories.createCategory, { category }));
      const order = await grpc.call(Orders.placeOrder, { order: { petId, quantity: (count % 3) + 1 } });
      changing = order.id ?? -1n;
      answered.orders.set(changing, order);
      const patch = { orderId: changing, order: { quantity: 5, complete: count % 2 === 0 } };
      answered.orders.set(changing, await grpc.call(Orders.updateOrder, patch));
      changing = undefined;
    }
  } catch {
    if (changing !== undefined) answered.uncertain.add(changing);
  }
}

const STOCK = 1_000_000;

test('kill -9 - during writes, repeatedly, loses no write that succeeded', async (t) => {
  let server = await start(t);
  const petId = await server.grpc.pet({ stock: STOCK });
  const answered = new Answered();
  for (let round = 1; round <= 4; round += 1) {
    const writers = Array.from({ length: 16 }, () => writeOn(server, petId, answered));
    await until(() => answered.categories.length > round * 200, 'the writes of the round');
    await server.end('SIGKILL');
    await Promise.all(writers);
    server.grpc.close();

    server = await start(t);
    const there = await readAll(server);
    for (const category of answered.categories) assert.deepEqual(there.categories.get(category.id), category);
    for (const [orderId, order] of answered.orders) {
      const found = there.orders.get(orderId);
      if (found !== undefined && answered.uncertain.has(orderId)) answered.orders.set(orderId, found);
      else assert.deepEqual(found, order);
    }
    answered.uncertain.clear();
    const { quantity } = await server.grpc.call(Inventory.getInventoryItem, { petId });
    const ordered = [...there.orders.values()].reduce((sum, order) => sum + (order.quantity ?? 0), 0);
    t.is(quantity + ordered, STOCK, 'stock adds up, with orders that were never answered too');
  }
  server.grpc.close();
});

/** Every category and order that a server has. */
async function readAll({ grpc }: ServerProcess) {
  const categories = new Map<bigint, Category>();
  const orders = new Map<bigint, Order>();
  for (let pageToken = '', hasMore = true; hasMore; hasMore = pageToken !== '') {
    const page = await grpc.call(Categories.listCategories, { limit: 100, pageToken });
    for (const category of page.categories) categories.set(category.id, category);
    pageToken = page.nextPageToken;
  }
  for (let pageToken = '', hasMore = true; hasMore; hasMore = pageToken !== '') {
    const page = await grpc.call(Orders.listOrders, { limit: 100, pageToken });
    for (const order of page.orders) orders.set(order.id ?? -1n, order);
    pageToken = page.nextPageToken;
  }
  return { categories, orders };
}

for (const file of ['petstore.sqlite', 'petstore.sqlite-wal', 'demo.key']) {
  test(`kill -9 - during the first start, when ${file} appears: the next start succeeds`, async (t) => {
    const { dataDir, processes } = t.context;
    const [port] = await freePorts(1);
    const first = new TestProcess('src/main.ts', { DATA_DIR: dataDir, GRPC_PORT: String(port) });
    processes.push(first);
    await until(() => existsSync(join(dataDir, file)), file);
    await first.end('SIGKILL');

    const second = await start(t);
    t.truthy(await second.grpc.category());
    second.grpc.close();
  });
}
