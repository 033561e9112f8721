/** Storage when PostgreSQL is slow, out of connections, or has a row that stays locked. */
import { Client } from 'pg';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import type { Store } from '../../src/schema.ts';
import { categoryService } from '../../src/shop/categories/service.ts';
import { inventoryService } from '../../src/shop/inventory/service.ts';
import { orderService } from '../../src/shop/orders/service.ts';
import type { PetId } from '../../src/shop/pets/table.ts';
import { holding, postgresMissing, query, startPostgres } from '../support/machine/postgres.ts';
import { CONTEXT } from '../support/service/call.ts';
import { sharing, type TestOf } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { countSessions, openDatabase, openPool } from './postgres.ts';
import { CATS, newCategory, newPet } from './suite/database.ts';

const FEW = ['max_connections=20', 'superuser_reserved_connections=0'];
const test = sharing(postgresMissing, (t) => startPostgres(t, FEW));
type Test = TestOf<typeof test>;

function order(store: Store, petId: PetId) {
  return orderService(store).placeOrder({ order: { petId, quantity: 1 } }, CONTEXT);
}

const refusalOf = (work: Promise<unknown>) => work.then(() => undefined).catch((error: unknown) => error);

async function lockWaits(url: string): Promise<number> {
  const sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  return Number((await query(url, sql))[0]?.count);
}

test.serial('Locked rows - their changes queue on one connection each, others neither fail nor wait', async (t) => {
  const url = await t.context.createDatabase();
  const { store, warned } = await openDatabase(t, url);
  const [locked, other] = [await newPet(store, { quantity: 1_000 }), await newPet(store, { quantity: 1_000 })];
  const { id: orderId = 0n } = await order(store, locked.id);
  const rows = { pets: locked.id, categories: locked.categoryId };
  const locks = Object.entries(rows).map(([table, id]) => `SELECT FROM ${table} WHERE id = ${id} FOR UPDATE`);
  const lock = await holding(url, `BEGIN; ${locks.join(';')}`);
  let refused = 0;
  const changes = [
    () => order(store, locked.id),
    () => orderService(store).cancelOrder({ orderId }, CONTEXT),
    () => inventoryService(store).setInventory({ petId: locked.id, inventory: { quantity: 5 } }, CONTEXT),
    () => categoryService(store).updateCategory({ categoryId: locked.categoryId, category: CATS }, CONTEXT),
    () => categoryService(store).deleteCategory({ categoryId: locked.categoryId }, CONTEXT),
  ];
  const refusals = Array.from({ length: 40 }, async (_, index) => {
    const refusal = await refusalOf(changes[index % changes.length]?.() ?? Promise.resolve());
    refused += 1;
    return refusal;
  });
  await until(async () => (await lockWaits(url)) === 2, 'a change that waits for each row');
  let calls = 0;
  for (; refused === 0; calls += 1) {
    await order(store, other.id);
    t.is((await store.pets.find(other.id))?.quantity, 999 - calls);
    t.truthy(await newCategory(store));
    t.true((await lockWaits(url)) <= 2);
  }
  // One that waited for a locked row would be refused like its changes, and before it no round would end.
  t.true(calls > 1, `${calls} rounds while all changes of the locked rows waited`);
  for (const refusal of await Promise.all(refusals)) t.true(refusal instanceof StoreUnavailable, String(refusal));
  await lock.end();
  await order(store, locked.id);
  t.is((await store.pets.find(locked.id))?.quantity, 998);
  t.deepEqual(warned, []);
});

async function takeAll(t: Test, url: string): Promise<Client[]> {
  const others: Client[] = [];
  t.teardown(() => Promise.all(others.map((client) => client.end())));
  const isTaken = async () => {
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    const refusal = await refusalOf(client.connect());
    if (refusal === undefined) others.push(client);
    return refusal !== undefined;
  };
  await until(isTaken, 'the last connection');
  return others;
}

test.serial('Out of connections - calls share the open ones without failing, and more are opened later', async (t) => {
  const url = await t.context.createDatabase();
  const { store, warned } = await openDatabase(t, url);
  const pet = await newPet(store, { quantity: 1_000 });
  const others = await takeAll(t, url);
  // Orders of one pet queue, for 5 s at most: so they are few.
  const calls = Array.from({ length: 100 }, async (_, index) => {
    if (index % 10 === 0) await order(store, pet.id);
    else t.truthy(await store.pets.find(pet.id));
    await newCategory(store);
  });
  await Promise.all(calls);
  t.is((await store.pets.find(pet.id))?.quantity, 990);
  t.deepEqual(warned, []);
  for (const client of others.splice(0)) await client.end();
  const few = await countSessions(url);
  await until(async () => {
    await Promise.all(Array.from({ length: 20 }, () => newCategory(store)));
    return (await countSessions(url)) > few;
  }, 'more connections');
});

test.serial('Connections - beyond 2,000 calls that wait for one, further ones are unavailable at once', async (t) => {
  const { pool } = await openPool(t, await t.context.createDatabase());
  const { promise, resolve } = Promise.withResolvers<void>();
  const calls = Array.from({ length: 2_001 }, () => pool.use(() => promise));
  const refusal = await refusalOf(pool.use(() => promise));
  resolve();
  await t.notThrowsAsync(Promise.all(calls));
  t.deepEqual(refusal, new StoreUnavailable('too many calls wait for a connection'));
});
