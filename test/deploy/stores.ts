/** SQLite stores of the restore tests, made and read in this process. A category tells one store from another. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readConfig } from '../../src/platform/config/config.ts';
import { openEngine } from '../../src/platform/storage/open.ts';
import { MIGRATIONS } from '../../src/schema.ts';
import { change } from '../support/machine/database.ts';

const LOGGER = { info: () => undefined, warn: () => undefined };

/** Opens the store and its schema as a start of the service does. Throws what the start would. */
export async function startOn(dataDir: string): Promise<void> {
  const engine = await openEngine(readConfig({ DATA_DIR: dataDir }), MIGRATIONS, LOGGER);
  await engine.close();
}

/** Makes a store with the category, and the operator's key `key of <category>`. */
export async function makeStore(dataDir: string, category: string): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  await startOn(dataDir);
  change(dataDir, `INSERT INTO categories (name) VALUES ('${category}')`);
  writeFileSync(join(dataDir, 'operator.key'), `key of ${category}\n`);
}

/** Makes a store as a crash leaves it: the category is only in the write-ahead log. */
export async function makeCrashedStore(dataDir: string, category: string): Promise<void> {
  await makeStore(dataDir, category);
  change(dataDir, "UPDATE categories SET name = 'settled'");
  const running = new DatabaseSync(join(dataDir, 'petstore.sqlite'));
  running.exec(`PRAGMA journal_mode = WAL; UPDATE categories SET name = '${category}'`);
  const files = ['petstore.sqlite', 'petstore.sqlite-wal', 'petstore.sqlite-shm'].map((name) => join(dataDir, name));
  for (const file of files) copyFileSync(file, `${file}.copy`);
  running.close();
  for (const file of files) copyFileSync(`${file}.copy`, file);
}

export function categoriesIn(dataDir: string): readonly string[] {
  const database = new DatabaseSync(join(dataDir, 'petstore.sqlite'), { timeout: 10_000 });
  try {
    const rows = database.prepare('SELECT name FROM categories ORDER BY id').all();
    return rows.map(({ name }) => String(name));
  } finally {
    database.close();
  }
}
