/** The database of a storage test, and helpers to fill and occupy it. */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { isRead, START, type StoredEvent } from '../../../src/platform/events/stored-event.ts';
import type { Engine } from '../../../src/platform/storage/engine.ts';
import type { Migration } from '../../../src/platform/storage/migrate.ts';
import { compile } from '../../../src/platform/storage/statement.ts';
import { createStore } from '../../../src/platform/tables/store.ts';
import { type Store, TABLES } from '../../../src/schema.ts';
import type { CategoryId } from '../../../src/shop/categories/table.ts';
import type { Pet, PetId } from '../../../src/shop/pets/table.ts';
import { aPet } from '../../shop/resources.ts';
import { holdTransaction } from '../../support/machine/database.ts';
import type { Scope } from '../../support/scope.ts';
import { fresh } from '../../support/service/sharing.ts';

export interface SuiteDatabase {
  /** Opens the database as another process would, with more migrations if given. */
  open(options?: { readonly migrates?: boolean }, more?: readonly Migration[]): Promise<Engine>;
  /** SQL that locks categories against changes, not reads, until its transaction ends. */
  readonly lockCategories: string;
}

/** Creates an empty database, which is deleted at the end of the test. */
export type CreateDatabase<Shared> = (t: Scope, shared: Shared) => SuiteDatabase | Promise<SuiteDatabase>;

interface Context {
  readonly database: SuiteDatabase;
  readonly store: Store;
  readonly engine: Engine;
  /** Opens the database again, in addition to `store`. It is closed at the end of the test. */
  readonly openAgain: () => Promise<Store>;
}

export const test = anyTest as TestFn<Context>;

export function useDatabase<Shared>(createDatabase: CreateDatabase<Shared>): void {
  fresh<Context, Shared>(undefined, async (t, shared) => {
    const database = await createDatabase(t, shared);
    const open = (engine: Engine) => {
      const store = createStore(engine, TABLES);
      t.teardown(() => store.close().catch(() => undefined)); // a test may have closed it
      return store;
    };
    const engine = await database.open();
    return { database, store: open(engine), engine, openAgain: async () => open(await database.open()) };
  });
}

export const CATS = { name: 'Cats', description: undefined };

export async function newCategory(store: Store, name = CATS.name): Promise<CategoryId> {
  return (await store.write((tx) => tx.categories.insert({ ...CATS, name }))).id;
}

export function newCategories(store: Store, count: number): Promise<CategoryId[]> {
  return store.transaction(async ({ categories }) => {
    const ids: CategoryId[] = [];
    for (let index = 0; index < count; index += 1) ids.push((await categories.insert(CATS)).id);
    return ids;
  });
}

/** A pet of `categoryId`, or of a new category. */
export async function newPet(store: Store, fields: Partial<Omit<Pet, 'id'>> = {}): Promise<Pet> {
  const categoryId = fields.categoryId ?? (await newCategory(store));
  return store.transaction(async (tx) => {
    const inserted = await tx.pets.insert(aPet({ ...fields, categoryId }));
    if (inserted === undefined) throw new Error(`there is no category ${categoryId}`);
    const pet = { ...inserted, quantity: fields.quantity ?? 0 };
    await tx.pets.update(pet);
    return pet;
  });
}

export async function eventsOf({ events }: Pick<Store, 'events'>, types?: readonly string[]): Promise<StoredEvent[]> {
  const all: StoredEvent[] = [];
  for (let after = START; ; ) {
    const { rows, hasMore } = await events.after({ after, limit: 100, ...(types && { types }) });
    all.push(...rows.filter(isRead));
    after = rows.at(-1)?.id ?? after;
    if (!hasMore) return all;
  }
}

export async function runSql(engine: Engine, sql: string): Promise<void> {
  await engine.write((tx) => tx.all(compile(sql.slice(0, 60), engine.knex.raw(sql)), {}));
}

/** Occupies the writer until `release` is called, so that writes queue meanwhile. */
export async function occupyWriter({ context: { store } }: ExecutionContext<Context>) {
  return { release: await holdTransaction(store) };
}

/** An engine that runs no statement, and notes each. */
export function notingEngine(engine: Engine) {
  const noted: Parameters<Engine['reader']['all']>[] = [];
  const runner: Engine['reader'] = {
    async all(...run) {
      noted.push(run);
      return [];
    },
  };
  return { noted, runner, engine: { ...engine, reader: runner } };
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
