/** Idempotency records: stored exactly when their write is, and one per id. */
import { randomBytes } from 'node:crypto';
import type { Store } from '../../../src/schema.ts';
import { type Category, type Pet, toCategoryId } from '../../../src/shop/model.ts';
import type { IdempotencyRecord } from '../../../src/storage/model.ts';
import { AlreadyDone } from '../../../src/storage/store-errors.ts';
import { aPet } from '../../support/pets.ts';
import { newCategory, occupyWriter, test } from './database.ts';

const NOW_MS = Date.UTC(2026, 6, 1);
const CATS = { name: 'Cats', description: undefined };

function newRecord(fields: Partial<IdempotencyRecord> = {}): IdempotencyRecord {
  const id = randomBytes(32).toString('base64url');
  return { id, requestDigest: randomBytes(32), response: randomBytes(60), createdAtMs: NOW_MS, ...fields };
}

/** Makes the writes of a call whose record is this one. */
function callWith(store: Store, record: IdempotencyRecord) {
  return store.forCall({ isCancelled: () => false, remember: () => record });
}

function create(store: Store, record: IdempotencyRecord): Promise<Category> {
  return callWith(store, record).write(({ categories }) => categories.insert(CATS));
}

async function countCategories(store: Store): Promise<number> {
  return (await store.categories.page({ after: 0n, limit: 1_000 })).rows.length;
}

/** A way to insert a pet. */
interface Kind {
  readonly how?: 'write' | 'transaction';
  readonly record?: () => IdempotencyRecord;
  readonly pet?: Partial<Pet>;
  readonly fails?: boolean;
}

export function idempotencyTests(): void {
  for (const how of ['write', 'transaction'] as const) {
    test(`Idempotency records - a ${how} stores its own, a failed one none; a second one is rolled back`, async (t) => {
      const { store, openAgain } = t.context;
      const other = await openAgain();
      const record = newRecord();
      const refused = callWith(store, record)[how](async (tx) => {
        await tx.categories.insert(CATS);
        throw new Error('refused');
      });
      await t.throwsAsync(refused, { message: 'refused' });
      const unknown = aPet({ categoryId: toCategoryId(999n) });
      t.is(await callWith(store, record)[how](({ pets }) => pets.insert(unknown)), undefined); // changes nothing
      t.deepEqual([await store.idempotency.find(record.id), await countCategories(store)], [undefined, 0]);
      const remember = (result: unknown) => ({ ...record, response: Buffer.from(String((result as Category).id)) });
      const call = store.forCall({ isCancelled: () => false, remember });
      const created = await call[how](({ categories }) => categories.insert(CATS));
      const stored = { ...record, response: Buffer.from(String(created.id)) };
      for (const late of [store, other]) {
        const second = callWith(late, record)[how](({ categories }) => categories.insert(CATS));
        await t.throwsAsync(second, { instanceOf: AlreadyDone });
        t.deepEqual(await late.idempotency.find(record.id), stored);
      }
      t.is(await countCategories(store), 1);
    });
  }

  test('Idempotency records - of concurrent writes each stores its own; one that fails changes nothing', async (t) => {
    const { store } = t.context;
    const [categoryId, done] = [await newCategory(store), newRecord()];
    await create(store, done);
    const elsewhere = { categoryId: toCategoryId(999n) };
    const kinds: readonly Kind[] = [
      {},
      { record: newRecord },
      { record: () => done, fails: true },
      { record: newRecord, pet: { status: 'lost' as 'sold' }, fails: true }, // the database refuses it
      { record: newRecord, pet: elsewhere, fails: true }, // the work throws
      { pet: elsewhere, fails: true },
      { how: 'transaction', record: newRecord },
    ];
    const writer = await occupyWriter(t);
    // Every kind follows every other one, and itself.
    const writes = Array.from({ length: 63 }, (_, index) => {
      const kind = kinds[(index * (1 + Math.floor(index / 7))) % 7] ?? {};
      const [record, fields] = [kind.record?.(), aPet({ name: `${index}`, categoryId, ...kind.pet })];
      const remember = (pet: unknown) => ({ ...(record ?? done), response: Buffer.from(`${(pet as Pet).id}`) });
      const call = store.forCall({ isCancelled: () => false, ...(record && { remember }) });
      const inserting = call[kind.how ?? 'write'](async ({ pets }) => {
        const pet = await pets.insert(fields);
        if (pet === undefined) throw new Error('there is no such category');
        return pet;
      });
      return { kind, record, fields, inserting };
    });
    const settled = Promise.allSettled(writes.map(({ inserting }) => inserting));
    await writer.release();
    await settled;
    const inserted: Pet[] = [];
    for (const { kind, record, fields, inserting } of writes) {
      const pet = kind.fails ? undefined : await inserting;
      if (pet === undefined) {
        const error = await t.throwsAsync(inserting);
        t.is(error instanceof AlreadyDone, record === done);
      } else {
        t.deepEqual(pet, { ...fields, id: pet.id, quantity: 0 });
        inserted.push(pet);
      }
      const response = record === done ? done.response : pet && Buffer.from(`${pet.id}`);
      if (record !== undefined) t.deepEqual((await store.idempotency.find(record.id))?.response, response);
    }
    const { rows } = await store.pets.page({ after: 0n, limit: 100 });
    t.deepEqual(
      rows,
      inserted.toSorted((one, other) => Number(one.id - other.id)),
    );
  });

  test('Idempotency records - are returned as written; a limited number of the oldest is deleted', async (t) => {
    const { store } = t.context;
    const old = [
      newRecord({ id: `-_${'A9z'.repeat(13)}--`, createdAtMs: NOW_MS - 1 }),
      newRecord({ response: Buffer.alloc(0), requestDigest: Buffer.alloc(32), createdAtMs: 0 }),
      newRecord({ response: Buffer.from('nul \0 and \x1a0'), createdAtMs: NOW_MS - 2 }),
    ];
    const young = newRecord({ createdAtMs: 2 ** 45 });
    for (const record of [...old, young]) await create(store, record);
    await newCategory(store); // has no record
    const find = () => Promise.all([...old, young].map(({ id }) => store.idempotency.find(id)));
    t.deepEqual(await find(), [...old, young]);
    const deleted = [];
    for (let portion = 0; portion < 3; portion += 1) {
      deleted.push(await store.write((tx) => tx.idempotency.deleteOldest(2, NOW_MS)));
    }
    t.deepEqual(deleted, [2, 1, 0]);
    t.deepEqual(await find(), [undefined, undefined, undefined, young]);
    t.is(await countCategories(store), 5, 'their categories stay');
  });

  // Serial: on SQLite a process that waits for another occupies one of Node's four threads for files.
  test.serial('Idempotency records - of concurrent writes with one id, in two processes, one succeeds', async (t) => {
    const { store, openAgain } = t.context;
    const stores = [store, await openAgain()];
    for (let round = 1; round <= 5; round += 1) {
      const { id } = newRecord();
      const works = Array.from({ length: 8 }, (_, index) =>
        create(stores[index % 2] ?? store, newRecord({ id, response: Buffer.from(String(index)) })),
      );
      const settled = await Promise.allSettled(works);
      const winner = settled.findIndex(({ status }) => status === 'fulfilled');
      const losers = settled.filter((one) => one.status === 'rejected' && one.reason instanceof AlreadyDone);
      t.is(losers.length, 7);
      t.deepEqual((await store.idempotency.find(id))?.response, Buffer.from(String(winner)));
      t.is(await countCategories(store), round);
    }
  });

  test.serial('Idempotency records - an insert waits for one with the same id, succeeds if that fails', async (t) => {
    const { store, openAgain } = t.context;
    const other = await openAgain();
    const record = newRecord();
    const [inserted, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = store.transaction(async (tx) => {
      await tx.idempotency.insert(record);
      inserted.resolve();
      await end.promise;
      throw new Error('refused');
    });
    await inserted.promise;
    const second = create(other, record);
    end.resolve();
    await t.throwsAsync(first, { message: 'refused' });
    t.truthy(await second);
    t.deepEqual(await store.idempotency.find(record.id), record);
  });
}
