/** kill -9 of the server while callers with idempotency keys wait for responses. The callers retry. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { GrpcCaller } from '../support/grpc-caller.ts';
import type { ServerProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { start, test } from './server-processes.ts';

const key = (name: string) => ({ metadata: { 'idempotency-key': name } });

/** Starts a TCP proxy to a server. It can drop everything that the server sends. */
async function startLossyProxy(address: string) {
  const [host = '', port = ''] = address.split(':');
  const sockets: Socket[] = [];
  let isDropping = false;
  const proxy = createServer((caller) => {
    const server = connect(Number(port), host);
    sockets.push(caller, server);
    for (const socket of [caller, server]) socket.on('error', () => undefined);
    caller.pipe(server);
    server.on('data', (bytes: Buffer) => {
      if (!isDropping) caller.write(bytes);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    dropResponses() {
      isDropping = true;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}

test('kill -9 - between commit and response: a retry gets the first response, with no second write', async (t) => {
  const first = await start(t);
  const petId = await first.grpc.pet({ stock: 5 });
  const proxy = await startLossyProxy(first.address);
  const caller = new GrpcCaller(proxy.address, first.key);
  await caller.category(); // opens the connection
  proxy.dropResponses();
  const request = { order: { petId, quantity: 2 } };
  const unanswered = caller.failure(Orders.placeOrder, request, key('a'));
  const stock = async ({ grpc }: ServerProcess) => (await grpc.call(Inventory.getInventoryItem, { petId })).quantity;
  await until(async () => (await stock(first)) === 3, 'the commit');
  await first.end('SIGKILL');
  proxy.close();
  t.truthy(await unanswered);
  caller.close();
  first.grpc.close();

  const second = await start(t);
  const again = await second.grpc.exchange(Orders.placeOrder, request, key('a'));
  t.deepEqual(again.headers.get('idempotency-replayed'), ['true']);
  const placed = await second.grpc.call(Orders.listOrders, { petId, pageToken: '' });
  t.deepEqual(placed.orders, [again.message]);
  t.is(await stock(second), 3);
  second.grpc.close();
});

/** Creates categories until a call fails. Resolves with the name of the failed call. */
async function createUntilFailure({ grpc }: ServerProcess, created: string[]): Promise<string> {
  for (;;) {
    const name = randomUUID();
    try {
      await grpc.call(Categories.createCategory, { category: { name } }, key(name));
      created.push(name);
    } catch {
      return name;
    }
  }
}

async function listNames({ grpc }: ServerProcess): Promise<string[]> {
  const found: string[] = [];
  for (let pageToken = '', hasMore = true; hasMore; hasMore = pageToken !== '') {
    const page = await grpc.call(Categories.listCategories, { limit: 100, pageToken });
    found.push(...page.categories.map(({ name }) => name));
    pageToken = page.nextPageToken;
  }
  return found;
}

test('kill -9 - during creations, repeatedly: each retried creation exists exactly once', async (t) => {
  const created: string[] = [];
  let server = await start(t);
  for (let round = 1; round <= 3; round += 1) {
    const creators = Array.from({ length: 16 }, () => createUntilFailure(server, created));
    await until(() => created.length > round * 60, 'the creations of the round');
    await server.end('SIGKILL');
    const unanswered = await Promise.all(creators);
    server.grpc.close();
    server = await start(t);
    for (const name of unanswered) {
      await server.grpc.call(Categories.createCategory, { category: { name } }, key(name));
      created.push(name);
    }
  }
  t.deepEqual((await listNames(server)).toSorted(), created.toSorted());
  server.grpc.close();
});
