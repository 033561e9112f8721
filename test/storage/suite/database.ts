/** What the storage suite asks of an engine under test. */
import type { ExecutionContext, TestFn } from 'ava';
import anyTest from 'ava';
import type { CategoryId, Pet } from '../../../src/model.ts';
import type { Engine } from '../../../src/storage/engine.ts';
import { createStore, type Store } from '../../../src/storage/store.ts';

export interface SuiteDatabase {
  /** Opens the database as another process would. */
  open(options?: { readonly migrates?: boolean }): Promise<Engine>;
  /** SQL that keeps others from changing categories, not from reading them, until its transaction ends. */
  readonly lockCategories: string;
  /** Makes the database take nothing that is new, as for want of room or of a server, until it is given back. */
  takeAway(engine: Engine): Promise<() => Promise<void>>;
  /** Removes the database with all that is in it. */
  remove(): Promise<void>;
}

/** Makes an empty database. */
export type CreateDatabase = () => Promise<SuiteDatabase>;

interface Context {
  readonly database: SuiteDatabase;
  readonly store: Store;
  /** Of `store`. */
  readonly engine: Engine;
  /** Opens the database again, beside `store`. It is closed at the end of the test. */
  readonly openAgain: () => Promise<Store>;
  readonly opened: Store[];
}

export type SuiteTest = TestFn<Context>;
export type Test = ExecutionContext<Context>;

export const test = anyTest as SuiteTest;

/** Gives each test a store on an empty database of its own. */
export function useDatabase(createDatabase: CreateDatabase): void {
  test.beforeEach(async (t) => {
    const database = await createDatabase();
    const opened: Store[] = [];
    const openAgain = async () => {
      const store = createStore(await database.open());
      opened.push(store);
      return store;
    };
    const engine = await database.open();
    const store = createStore(engine);
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
    const inserted = await tx.pets.insert({ name: 'Tom', status: 'available', ...fields, categoryId });
    if (inserted === undefined) throw new Error(`there is no category ${categoryId}`);
    const pet = { ...inserted, quantity: fields.quantity ?? 0 };
    await tx.pets.update(pet);
    return pet;
  });
}
