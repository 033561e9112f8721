/** The database of a storage test, and helpers to fill and occupy it. */
import type { ExecutionContext, TestFn } from 'ava';
import anyTest from 'ava';
import { type Store, TABLES } from '../../../src/schema.ts';
import type { CategoryId, Pet, PetId } from '../../../src/shop/model.ts';
import type { Engine } from '../../../src/storage/engine.ts';
import { createStore } from '../../../src/storage/store.ts';
import { aPet } from '../../support/pets.ts';

export interface SuiteDatabase {
  /** Opens the database as another process would. */
  open(options?: { readonly migrates?: boolean }): Promise<Engine>;
  /** SQL that locks categories against changes, not reads, until its transaction ends. */
  readonly lockCategories: string;
  /** Makes all writes fail, as with a full disk or a stopped server. Resolves with a function that undoes it. */
  failWrites(engine: Engine): Promise<() => Promise<void>>;
  /** Deletes the database. */
  remove(): Promise<void>;
}

/** Creates an empty database. */
export type CreateDatabase = () => Promise<SuiteDatabase>;

interface Context {
  readonly database: SuiteDatabase;
  readonly store: Store;
  /** The engine of `store`. */
  readonly engine: Engine;
  /** Opens the database again, in addition to `store`. It is closed at the end of the test. */
  readonly openAgain: () => Promise<Store>;
  readonly opened: Store[];
}

export type SuiteTest = TestFn<Context>;
export type Test = ExecutionContext<Context>;

export const test = anyTest as SuiteTest;

/** Gives each test a store with its own empty database. */
export function useDatabase(createDatabase: CreateDatabase): void {
  test.beforeEach(async (t) => {
    const database = await createDatabase();
    const opened: Store[] = [];
    const openAgain = async () => {
      const store = createStore(await database.open(), TABLES);
      opened.push(store);
      return store;
    };
    const engine = await database.open();
    const store = createStore(engine, TABLES);
    opened.push(store);
    t.context = { database, store, engine, openAgain, opened };
  });
  test.afterEach.always(async (t) => {
    for (const store of t.context.opened) await store.close().catch(() => undefined); // a test may have closed it
    await t.context.database.remove();
  });
}

export async function newCategory(store: Store, name = 'Cats'): Promise<CategoryId> {
  return (await store.transaction((tx) => tx.categories.insert({ name, description: undefined }))).id;
}

/** A pet of `categoryId`, or of a new category. */
export async function newPet(store: Store, fields: Partial<Omit<Pet, 'id'>> = {}): Promise<Pet> {
  const categoryId = fields.categoryId ?? (await newCategory(store));
  return store.transaction(async (tx) => {
    const inserted = await tx.pets.insert(aPet({ name: 'Tom', status: 'available', ...fields, categoryId }));
    if (inserted === undefined) throw new Error(`there is no category ${categoryId}`);
    const pet = { ...inserted, quantity: fields.quantity ?? 0 };
    await tx.pets.update(pet);
    return pet;
  });
}

/** A promise that `open` resolves. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** Occupies the writer until `release` is called, so that writes queue meanwhile. */
export async function occupyWriter({ context: { store } }: Test): Promise<{ release: () => Promise<void> }> {
  const [begun, end] = [gate(), gate()];
  const work = store.transaction(async () => {
    begun.open();
    await end.opened;
  });
  await begun.opened;
  return {
    async release() {
      end.open();
      await work;
    },
  };
}

/** Adds one to a pet's stock. Resolves with the stock before. */
export function addOne(store: Store, petId: PetId): Promise<number> {
  return store.transaction(async (tx) => {
    const pet = await tx.pets.lock(petId);
    if (pet === undefined) throw new Error('the pet is gone');
    await tx.pets.update({ ...pet, quantity: pet.quantity + 1 });
    return pet.quantity;
  });
}
