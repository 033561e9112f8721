/** Writes and their idempotency records: stored together or not at all, also in a group, and one record per id. */
import { randomBytes } from 'node:crypto';
import { AlreadyDone } from '../../../src/platform/storage/store-errors.ts';
import type { IdempotencyRecord } from '../../../src/platform/tables/idempotency.ts';
import type { Store } from '../../../src/schema.ts';
import { type Category, toCategoryId } from '../../../src/shop/categories/table.ts';
import type { Pet } from '../../../src/shop/pets/table.ts';
import { aPet } from '../../shop/resources.ts';
import { CATS, newCategory, occupyWriter, test } from './database.ts';
import { NOW_MS } from './rows.ts';

function newRecord(fields: Partial<IdempotencyRecord> = {}): IdempotencyRecord {
  const id = randomBytes(32).toString('base64url');
  return { id, requestDigest: randomBytes(32), response: randomBytes(60), createdAtMs: NOW_MS, ...fields };
}

/** Makes the writes of a call whose record is this one. */
function callWith(store: Store, record: IdempotencyRecord) {
  return store.forCall({ isCancelled: () => false, remember: () => record });
}

async function countCategories(store: Store): Promise<number> {
  return (await store.categories.page({ after: 0n, limit: 1_000 })).rows.length;
}

/** A way to insert a pet, or a first and a second one. */
interface Kind {
  readonly how?: 'write' | 'transaction';
  readonly record?: () => IdempotencyRecord;
  readonly pet?: Partial<Pet>;
  readonly second?: Partial<Pet>;
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

  test('Group - each write stores its own idempotency record; a failure rolls back only its own write', async (t) => {
    const { store } = t.context;
    const [categoryId, done] = [await newCategory(store), newRecord()];
    await callWith(store, done).write(({ categories }) => categories.insert(CATS));
    const elsewhere = { categoryId: toCategoryId(999n) }; // the work throws
    const wrong = { status: 'lost' as 'sold' }; // the database refuses it
    const kinds: readonly Kind[] = [
      {},
      { record: newRecord },
      { record: () => done, fails: true },
      { record: newRecord, pet: wrong, fails: true },
      { record: newRecord, pet: elsewhere, fails: true },
      { pet: elsewhere, fails: true },
      { how: 'transaction', record: newRecord },
      { how: 'transaction', second: elsewhere, fails: true },
      { how: 'transaction', record: newRecord, second: wrong, fails: true },
    ];
    const writer = await occupyWriter(t);
    const everyPair = kinds.flatMap((first) => kinds.flatMap((second) => [first, second]));
    const writes = everyPair.map((kind, index) => {
      const [record, fields] = [kind.record?.(), aPet({ name: `${index}`, categoryId, ...kind.pet })];
      const remember = (pet: unknown) => ({ ...(record ?? done), response: Buffer.from(`${(pet as Pet).id}`) });
      const call = store.forCall({ isCancelled: () => false, ...(record && { remember }) });
      const inserting = call[kind.how ?? 'write'](async ({ pets }) => {
        const insert = async (more?: Partial<Pet>) => {
          const pet = await pets.insert({ ...fields, ...more });
          if (pet === undefined) throw new Error('there is no such category');
          return pet;
        };
        const pet = await insert();
        if (kind.second !== undefined) await insert(kind.second);
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
    inserted.sort((one, other) => Number(one.id - other.id));
    t.deepEqual(rows, inserted);
  });
}
