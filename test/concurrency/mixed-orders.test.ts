/** Two thousand order operations at a time that hinder each other: not a unit is lost, none is sold twice. */
import type { ServiceError } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { type Order, OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetStatus } from '../../gen/petstore/v1/pets.ts';
import { detailsOf } from '../support/grpc.ts';
import { createDataDir, type ServerProcess, startServerProcess } from '../support/process.ts';

const test = anyTest as TestFn<{ server: ServerProcess; remove: () => Promise<void> }>;

test.before(async (t) => {
  const { path, remove } = await createDataDir();
  t.context = { server: await startServerProcess(path), remove };
});
test.after.always(async (t) => {
  const { server, remove } = t.context;
  server.grpc.close();
  await server.end('SIGTERM');
  await remove();
});

const ROUNDS = 10;
const AT_ONCE = 200;
const PETS = 5;

/** What an operation may run into when others are faster. */
const REFUSALS = new Set(['INSUFFICIENT_STOCK', 'ORDER_COMPLETE', 'ORDER_NOT_FOUND']);

class Shop {
  readonly #grpc: ServerProcess['grpc'];
  readonly petId: bigint;
  /** All units that there ever were: what setting the inventory has added and taken away. */
  adjustments = 0;
  readonly #orderIds: bigint[] = [];
  readonly refusals = new Map<string, number>();

  constructor({ grpc }: ServerProcess, petId: bigint) {
    this.#grpc = grpc;
    this.petId = petId;
  }

  /** Sets the stock while nobody else touches the pet, so that it is known what that adds. */
  async setInventory(quantity: number): Promise<void> {
    const before = await this.stock();
    await this.#grpc.call(Inventory.setInventory, { petId: this.petId, inventory: { quantity } });
    this.adjustments += quantity - before.quantity;
  }

  stock() {
    return this.#grpc.call(Inventory.getInventoryItem, { petId: this.petId });
  }

  async orders(): Promise<Order[]> {
    const orders: Order[] = [];
    for (let pageToken = '', hasMore = true; hasMore; hasMore = pageToken !== '') {
      const page = await this.#grpc.call(Orders.listOrders, { petId: this.petId, limit: 100, pageToken });
      orders.push(...page.orders);
      pageToken = page.nextPageToken;
    }
    return orders;
  }

  /** One operation on an order that others are after too. */
  async operate(index: number): Promise<void> {
    try {
      await this.#operate(index);
    } catch (error) {
      const reason = detailsOf(error as ServiceError).errorInfo?.reason ?? '';
      if (!REFUSALS.has(reason)) throw error;
      this.refusals.set(reason, (this.refusals.get(reason) ?? 0) + 1);
    }
  }

  async #operate(index: number): Promise<void> {
    const orderId = this.#orderIds[(index * 7) % this.#orderIds.length] ?? -1n;
    const quantity = (index % 4) + 1;
    switch (index % 10) {
      case 0:
      case 1:
        await this.#grpc.call(Orders.cancelOrder, { orderId });
        return;
      case 2:
        await this.#grpc.call(Orders.updateOrder, { orderId, order: { complete: true } });
        return;
      case 3:
        await this.#grpc.call(Orders.updateOrder, { orderId, order: { quantity, complete: true } });
        return;
      case 4:
      case 5:
        await this.#grpc.call(Orders.updateOrder, { orderId, order: { quantity } });
        return;
      default:
        this.#orderIds.push(await this.#grpc.order({ petId: this.petId, quantity, complete: index % 10 === 9 }));
    }
  }
}

test('Orders - after 2,000 that hinder each other stock adds up for each pet', async (t) => {
  const { server } = t.context;
  const shops = await Promise.all(Array.from({ length: PETS }, async () => new Shop(server, await server.grpc.pet())));
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(shops.map((shop, index) => shop.setInventory(20 + round + index)));
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => shops[index % PETS]?.operate(round + index)));
    for (const shop of shops) {
      const { quantity, status } = await shop.stock();
      const orders = await shop.orders();
      const ordered = orders.reduce((sum, order) => sum + (order.quantity ?? 0), 0);
      t.is(quantity + ordered, shop.adjustments, `pet ${shop.petId} after round ${round}`);
      const hasOpen = orders.some(({ complete }) => complete === false);
      t.is(status, quantity > 0 ? PetStatus.available : hasOpen ? PetStatus.pending : PetStatus.sold);
    }
  }
  const refusals = shops.flatMap((shop) => [...shop.refusals.keys()]);
  for (const reason of REFUSALS) t.true(refusals.includes(reason), `nobody ran into ${reason}`);
});

test('Orders - while the inventory is set under them stock is never negative and no order fails otherwise', async (t) => {
  const { server } = t.context;
  const shop = new Shop(server, await server.grpc.pet({ stock: 10 }));
  let isOver = false;
  const setter = (async () => {
    for (let count = 0; !isOver; count += 1) await shop.setInventory(count % 5);
  })();
  const watcher = (async () => {
    while (!isOver) t.true((await shop.stock()).quantity >= 0);
  })();
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => shop.operate(round + index)));
  }
  isOver = true;
  await Promise.all([setter, watcher]);
});
