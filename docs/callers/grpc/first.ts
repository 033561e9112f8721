import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CallOptions, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from './google/rpc/error_details_pb.js';
import { CategoryService, EventService, InventoryService, OrderService, PetService } from './petstore_pb.js';

const { API = '', API_KEY } = process.env;
const REPEATED = [Code.Unavailable, Code.DeadlineExceeded, Code.Internal, Code.Unknown, Code.Canceled];

/** Tells what is wrong, and returns the seconds until the next attempt: undefined if it would fail again. */
function pauseAfter(error: ConnectError, attempt: number): number | undefined {
  const [info] = error.findDetails(ErrorInfoSchema);
  const violations = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  const [retry] = error.findDetails(RetryInfoSchema);
  const told = Number(retry?.retryDelay?.seconds ?? 0);
  const fields = violations.map(({ field, description }) => `${field}: ${description}`);
  console.error(error.message, info?.reason ?? '', ...fields);
  const isReset = error.code === Code.Aborted && info === undefined; // so Connect calls a connection's end
  const isOfLimit = error.code === Code.ResourceExhausted && told > 0;
  if (!REPEATED.includes(error.code) && !isReset && !isOfLimit) return undefined;
  return (told || Math.min(2 ** attempt / 4, 15)) * (1 + Math.random() / 4);
}

/** Calls until it gets a response, for some minutes. The key lets what creates be executed once. */
async function call<Q, R>(method: (request: Q, options: CallOptions) => Promise<R>, request: Q): Promise<R> {
  const headers = { 'idempotency-key': crypto.randomUUID() };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await method(request, { headers, timeoutMs: 10_000 });
    } catch (error) {
      const pause = pauseAfter(ConnectError.from(error), attempt);
      if (pause === undefined || pause > 120 || attempt === 10) throw error;
      await sleep(pause * 1_000);
    }
  }
}

/** Yields each event once, whatever ends the stream, and stores how far it is. */
async function* follow(cursor: bigint) {
  for (let attempt = 1; ; attempt += 1) {
    const end = new AbortController();
    const silence = setTimeout(() => end.abort(), 35_000); // a message comes every 15 s
    try {
      for await (const { message } of events.watchEvents({ after: cursor }, { signal: end.signal })) {
        attempt = 0;
        if (message.case === 'event') yield message.value;
        cursor = message.value?.id ?? cursor;
        writeFileSync('cursor.new', String(cursor));
        renameSync('cursor.new', 'cursor');
        silence.refresh();
      }
      await sleep(1_000);
    } catch (error) {
      const pause = pauseAfter(ConnectError.from(error), attempt);
      if (pause === undefined) throw error;
      await sleep(pause * 1_000);
    } finally {
      clearTimeout(silence);
    }
  }
}

const withKey: Interceptor = (next) => (request) => {
  request.header.set('authorization', `Bearer ${API_KEY}`);
  return next(request);
};
const pings = { pingIntervalMs: 25_000, pingTimeoutMs: 10_000 };
const transport = createGrpcTransport({ baseUrl: API, interceptors: [withKey], ...pings });
const categories = createClient(CategoryService, transport);
const pets = createClient(PetService, transport);
const inventory = createClient(InventoryService, transport);
const orders = createClient(OrderService, transport);
const events = createClient(EventService, transport);

const cats = await call(categories.createCategory, { category: { name: 'Cats' } });
const tom = await call(pets.createPet, { pet: { name: 'Tom', categoryId: cats.id } });
await call(inventory.setInventory, { petId: tom.id, inventory: { quantity: 12 } });
const placed = await call(orders.placeOrder, { order: { petId: tom.id, quantity: 2 } });
console.log(`order ${placed.id}: ${placed.quantity} of ${tom.name}`);

let [count, pageToken] = [0, ''];
do {
  const page = await call(orders.listOrders, { petId: tom.id, limit: 100, pageToken });
  count += page.orders.length;
  pageToken = page.nextPageToken;
} while (pageToken !== '');
console.log(`orders of ${tom.name}: ${count}`);

const start = existsSync('cursor') ? BigInt(readFileSync('cursor', 'utf8')) : 0n; // 0: the oldest event that is kept
for await (const event of follow(start)) console.log(`${event.id} ${event.type}`); // your own work
