/**
 * Helpers of the backup tests: they run the programs with a launcher's settings, and make and read SQLite stores in
 * this process. A category tells one store from another.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ExecutionContext } from 'ava';
import { readConfig } from '../../src/platform/config/config.ts';
import { openEngine } from '../../src/platform/process/database.ts';
import { MIGRATIONS } from '../../src/schema.ts';
import { change } from '../support/machine/database.ts';
import { missing } from '../support/machine/find-program.ts';
import { postgresMissing } from '../support/machine/postgres.ts';
import { Program, type Settings } from '../support/service/process.ts';

/** Why backups of PostgreSQL can't be tested; undefined when they can. */
export const dumpsMissing = postgresMissing ?? missing('psql', 'postgresql-client');

export const DEPLOY = new URL('../../deploy', import.meta.url).pathname;

export async function run(program: 'backup' | 'drill' | 'restore', args: readonly string[], settings: Settings) {
  const env = { ...process.env, ...settings };
  const running = new Program(process.execPath, [join(DEPLOY, `${program}.ts`), ...args], { env });
  const { code } = await running.ended;
  return { code, output: running.output, errors: running.errors };
}

type Ending = ReturnType<typeof run>;

/** Asserts that a program ends with exit code 0. Resolves with its output. */
export async function succeeds(t: ExecutionContext<unknown>, ending: Ending): Promise<string> {
  const { code, output, errors } = await ending;
  t.is(code, 0, errors);
  return output;
}

/** Asserts that a program ends with exit code 1 and this line alone. */
export async function fails(t: ExecutionContext<unknown>, ending: Ending, line: RegExp): Promise<void> {
  const { errors, ...ended } = await ending;
  t.deepEqual(ended, { code: 1, output: '' }, errors);
  t.regex(errors, line);
}

export async function backup(folder: string, settings: Settings): Promise<string> {
  const { code, output, errors } = await run('backup', ['--to', folder], settings);
  if (code !== 0) throw new Error(errors);
  return output.trim();
}

const LOGGER = { info: () => undefined, warn: () => undefined };

/** Opens the store and its schema as a start of the service does. Throws what the start would. */
export async function startOn(dataDir: string): Promise<void> {
  await (await openEngine(readConfig({ DATA_DIR: dataDir }), MIGRATIONS, LOGGER)).close();
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
  using database = new DatabaseSync(join(dataDir, 'petstore.sqlite'), { timeout: 10_000 });
  const rows = database.prepare('SELECT name FROM categories ORDER BY id').all();
  return rows.map(({ name }) => String(name));
}
