/** A SQLite file of a test's own, in a temporary folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../src/storage/engine.ts';
import { openSqlite } from '../../src/storage/sqlite.ts';
import { createStore, type Store } from '../../src/storage/store.ts';

export interface TestDatabase {
  readonly file: string;
  /** Another engine on the same file, as another process would have. The test closes it. */
  open(): Promise<Engine>;
  /** Removes the file. */
  remove(): Promise<void>;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-db-'));
  const file = join(folder, 'petstore.sqlite');
  return {
    file,
    open: () => openSqlite(file),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A store with a new database behind it. `close` removes it. */
export async function createTestStore(): Promise<Store> {
  const database = await createTestDatabase();
  const store = createStore(await database.open());
  return {
    ...store,
    async close() {
      await store.close();
      await database.remove();
    },
  };
}
