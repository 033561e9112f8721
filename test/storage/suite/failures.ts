/** What storage refuses, the same on every engine: an occupied, failing or closed database. */
import { compile } from '../../../src/platform/storage/statement.ts';
import { StoreUnavailable } from '../../../src/platform/storage/store-errors.ts';
import type { Store } from '../../../src/schema.ts';
import { toCategoryId } from '../../../src/shop/categories/table.ts';
import { toPetId } from '../../../src/shop/pets/table.ts';
import { holdTransaction } from '../../support/machine/database.ts';
import { newCategory, newPet, occupyWriter, test } from './database.ts';

function callEach(store: Store): Promise<unknown>[] {
  return [
    store.pets.find(toPetId(1n)),
    store.pets.findAll([toPetId(1n), toPetId(2n)]),
    store.orders.page({ after: 0n, limit: 10 }),
    store.accounts.findKey(Buffer.alloc(32)),
    store.bans.inForce(0),
    store.transaction((tx) => tx.pets.lock(toPetId(1n))),
    store.write(({ categories }) => categories.delete(toCategoryId(1_000n))),
  ];
}

export function failureTests(): void {
  // Serial: SQLite waits for a locked file in one of Node's few threads, which other tests need.
  test.serial('Busy - a write that another process blocks is unavailable; reads succeed', async (t) => {
    const { database, store } = t.context;
    const pet = await newPet(store);
    const other = await database.open();
    const lock = compile('lock', other.knex.raw(database.lockCategories));
    const transaction = (work: () => Promise<void>) =>
      other.transaction(async (tx) => {
        await tx.all(lock, {});
        await work();
      });
    const release = await holdTransaction({ transaction });
    const write = t.throwsAsync(newCategory(store), { instanceOf: StoreUnavailable });
    for (let round = 0; round < 10; round += 1) t.is((await store.pets.find(pet.id))?.id, pet.id);
    await write;
    await release().catch(() => undefined); // the database may have ended a transaction that was idle for so long
    t.truthy(await newCategory(store));
    await other.close();
  });

  test('Closed - every later call is refused, reads and writes; earlier ones get their results', async (t) => {
    const { store, openAgain } = t.context;
    const earlier = callEach(store);
    const writer = await occupyWriter(t);
    const queued = Promise.all(Array.from({ length: 50 }, () => newCategory(store)));
    const closed = store.close();
    const isRefused = async () => {
      for (const result of await Promise.allSettled(callEach(store))) {
        t.like(result, { status: 'rejected', reason: new StoreUnavailable('the store is closed') });
      }
    };
    await isRefused();
    await writer.release();
    const ids = await queued;
    await Promise.all(earlier);
    await closed;
    await isRefused();
    const again = await openAgain();
    for (const id of ids) t.truthy(await again.categories.find(id));
  });
}
