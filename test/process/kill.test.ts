/** kill -9 of the server: every acknowledged write exists after the next start. */
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

/** The writes that servers have acknowledged. */
class Acknowledged {
  readonly categories: Category[] = [];
  /** Orders as last acknowledged, by id. */
  readonly orders = new Map<bigint, Order>();
  /** Orders with an unacknowledged change when the server died: either state is right. */
  readonly uncertain = new Set<bigint>();
}

/** Writes until a call fails. */
async function writeUntilFailure({ grpc }: ServerProcess, petId: bigint, acknowledged: Acknowledged): Promise<void> {
  let changing: bigint | undefined;
  try {
    for (let count = 0; ; count += 1) {
      const category = { name: `Kind ${count}`, description: `of ${count}` };
      acknowledged.categories.push(await grpc.call(Categories.createCategory, { category }));
      const order = await grpc.call(Orders.placeOrder, { order: { petId, quantity: (count % 3) + 1 } });
      changing = order.id ?? -1n;
      acknowledged.orders.set(changing, order);
      const patch = { orderId: changing, order: { quantity: 5, complete: count % 2 === 0 } };
      acknowledged.orders.set(changing, await grpc.call(Orders.updateOrder, patch));
      changing = undefined;
    }
  } catch {
    if (changing !== undefined) acknowledged.uncertain.add(changing);
  }
}

const STOCK = 1_000_000;

test('kill -9 - during writes, repeatedly, loses no acknowledged write', async (t) => {
  let server = await start(t);
  const petId = await server.grpc.pet({ stock: STOCK });
  const acknowledged = new Acknowledged();
  for (let round = 1; round <= 4; round += 1) {
    const writers = Array.from({ length: 16 }, () => writeUntilFailure(server, petId, acknowledged));
    await until(() => acknowledged.categories.length > round * 200, 'the writes of the round');
    await server.end('SIGKILL');
    await Promise.all(writers);
    server.grpc.close();

    server = await start(t);
    const stored = await readAll(server);
    for (const category of acknowledged.categories) assert.deepEqual(stored.categories.get(category.id), category);
    for (const [orderId, order] of acknowledged.orders) {
      const found = stored.orders.get(orderId);
      if (found !== undefined && acknowledged.uncertain.has(orderId)) acknowledged.orders.set(orderId, found);
      else assert.deepEqual(found, order);
    }
    acknowledged.uncertain.clear();
    const { quantity } = await server.grpc.call(Inventory.getInventoryItem, { petId });
    const ordered = [...stored.orders.values()].reduce((sum, order) => sum + (order.quantity ?? 0), 0);
    t.is(quantity + ordered, STOCK, 'stock and orders add up, with unacknowledged orders too');
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
