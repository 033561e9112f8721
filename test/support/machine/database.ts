/** A SQLite file in a temporary folder. */
import { DatabaseSync } from 'node:sqlite';
import type { EngineOptions } from '../../../src/platform/storage/engine.ts';
import type { Migration } from '../../../src/platform/storage/migrate.ts';
import { openSqlite } from '../../../src/platform/storage/sqlite.ts';
import { createStore } from '../../../src/platform/tables/store.ts';
import { MIGRATIONS, type Store, TABLES } from '../../../src/schema.ts';
import { type Scope, temporaryFolder } from '../scope.ts';

export function createTestDatabase(t: Scope) {
  const file = `${temporaryFolder(t)}/petstore.sqlite`;
  return {
    file,
    /** Opens another engine on the same file, as another process would. The test closes it. */
    open: (options?: EngineOptions, more: readonly Migration[] = []) =>
      openSqlite(file, [...MIGRATIONS, ...more], options),
    lockCategories: 'SELECT 1', // a writer locks the whole file
  };
}

export async function createTestStore(t: Scope): Promise<Store> {
  const store = createStore(await createTestDatabase(t).open(), TABLES);
  t.teardown(() => store.close());
  return store;
}

/** Runs SQL on the file of a data folder, also beside a service that uses it. */
export function change(dataDir: string, sql: string): void {
  using database = new DatabaseSync(`${dataDir}/petstore.sqlite`, { timeout: 10_000 });
  database.exec(sql);
}

/** Opens a transaction, which blocks other writes on SQLite. Resolves with a function that commits it. */
export async function holdTransaction(database: {
  transaction(work: () => Promise<void>): Promise<void>;
}): Promise<() => Promise<void>> {
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = database.transaction(async () => {
    begun.resolve();
    await end.promise;
  });
  await begun.promise;
  return () => {
    end.resolve();
    return transaction;
  };
}
