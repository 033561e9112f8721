/** Transactions, and writes of a single statement: isolated, cancelled in time, losing no update. */
import { toAccountId } from '../../../src/platform/rpc/caller.ts';
import { Cancelled, NotUnique } from '../../../src/platform/storage/store-errors.ts';
import type { PetId } from '../../../src/shop/pets/table.ts';
import { addOne, CATS, newCategory, newPet, occupyWriter, test } from './database.ts';
import { newAccount } from './rows.ts';

const ALL = { after: 0n, limit: 1_000 };
const HOWS = ['transaction', 'write'] as const;

export function transactionTests(): void {
  test('Transaction - nothing else sees its changes before; an error rolls it back, unchanged', async (t) => {
    const { store, openAgain } = t.context;
    const other = await openAgain();
    const thrown = new Error('changed my mind');
    const work = store.transaction(async (tx) => {
      const inserted = await tx.categories.insert(CATS);
      t.deepEqual(await tx.categories.lock(inserted.id), inserted);
      t.is(await store.categories.find(inserted.id), undefined);
      t.is(await other.categories.find(inserted.id), undefined);
      throw thrown;
    });
    await t.throwsAsync(work, { is: thrown });
    t.deepEqual((await store.categories.page(ALL)).rows, []);
  });

  for (const how of HOWS) {
    test(`Unique - a ${how} of a value that another row has is NotUnique; those beside it are stored`, async (t) => {
      const { store } = t.context;
      const { id: accountId } = await newAccount(store);
      const ofKey = { prefix: 'pst_', label: undefined, permission: 'write', createdAtMs: 0 } as const;
      const key = { accountId, ...ofKey, expiresAtMs: undefined };
      const writer = await occupyWriter(t);
      const inserts = [1, 2, 1].map((byte) => store[how]((tx) => tx.keys.insert(key, Buffer.of(byte))));
      const settled = Promise.allSettled(inserts);
      await writer.release();
      const refused = (await settled).map((one) => one.status === 'rejected' && one.reason instanceof NotUnique);
      t.deepEqual(refused.toSorted(), [false, false, true]);
    });

    test(`Cancelled - a ${how} that is cancelled before its turn does not run, one that has begun does`, async (t) => {
      const { store } = t.context;
      const writer = await occupyWriter(t);
      let isCancelled = false;
      const call = store.forCall({ isCancelled: () => isCancelled });
      const writing = call[how]((tx) => tx.categories.insert(CATS));
      const refused = t.throwsAsync(writing, { instanceOf: Cancelled });
      const kept = newCategory(store);
      isCancelled = true;
      await writer.release();
      await refused;
      const keptId = await kept;
      const ids = (await store.categories.page(ALL)).rows.map(({ id }) => id);
      t.deepEqual(ids, [keptId]);
      isCancelled = false;
      const { id } = await call.transaction((tx) => {
        isCancelled = true;
        return tx.categories.insert(CATS);
      });
      t.truthy(await store.categories.find(id));
    });

    test(`After the end of a ${how} - a statement that it left behind is refused, and changes nothing`, async (t) => {
      const { store } = t.context;
      const late = Promise.withResolvers<void>();
      let kept: Promise<unknown> | undefined;
      const result = await store[how](async ({ categories }) => {
        kept = late.promise.then(() => categories.insert(CATS));
        return 1;
      });
      t.is(result, 1);
      late.resolve();
      await t.throwsAsync(async () => kept, { message: 'categories.insert came after the end of its work' });
      t.deepEqual((await store.categories.page(ALL)).rows, []);
    });
  }

  for (const rows of ['the same row', 'other rows']) {
    test(`Turns - a transaction does not wait for a hundred of two other accounts', of ${rows}`, async (t) => {
      const { store } = t.context;
      const id = await newCategory(store);
      const order: bigint[] = [];
      const lock = async (account: bigint) => {
        const call = { isCancelled: () => false, caller: { accountId: toAccountId(account) } };
        const writer = store.forCall(call, rows === 'the same row' ? `category ${id}` : undefined);
        await writer.transaction((tx) => tx.categories.lock(id));
        order.push(account);
      };
      const many = Array.from({ length: 100 }, (_, index) => lock(index % 2 === 0 ? 1n : 3n));
      await Promise.race(many);
      await Promise.all([lock(2n), ...many]);
      t.true(order.indexOf(2n) < 40, `${order.indexOf(2n)}`);
    });
  }

  test('Write - a second statement is refused, since it would be a transaction of its own', async (t) => {
    const { store } = t.context;
    const second = store.write(async ({ categories }) => {
      await categories.insert(CATS);
      await categories.insert(CATS);
    });
    await t.throwsAsync(second, { message: /^categories.insert is the second statement of a write/ });
    t.true((await store.categories.page(ALL)).rows.length <= 1, 'an engine may have committed the first');
  });

  // The tests of two processes are serial: SQLite waits for a locked file in one of Node's few threads for files.
  test.serial('Two processes - lose no update, also if they lock the same rows in opposite order', async (t) => {
    const { store, openAgain } = t.context;
    const other = await openAgain();
    const [one, two] = [(await newPet(store)).id, (await newPet(store)).id];
    const addToBoth = (where: typeof store, ids: readonly PetId[]) =>
      where.transaction(async (tx) => {
        for (const id of ids) {
          const pet = await tx.pets.lock(id);
          if (pet !== undefined) await tx.pets.update({ ...pet, quantity: pet.quantity + 1 });
        }
      });
    for (let round = 0; round < 3; round += 1) {
      await Promise.all([addToBoth(store, [one, two]), addToBoth(other, [two, one])]);
      await Promise.all(Array.from({ length: 20 }, (_, index) => addOne(index % 2 === 0 ? store : other, one)));
    }
    t.deepEqual([(await store.pets.find(one))?.quantity, (await store.pets.find(two))?.quantity], [66, 6]);
  });
}
