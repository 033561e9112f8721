/** `npm run migrate`, and servers that do not migrate, as real processes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { MIGRATIONS } from '../../src/schema.ts';
import { openSqlite } from '../../src/storage/sqlite.ts';
import { compile } from '../../src/storage/statement.ts';
import { createDataDir, startServerProcess, TestProcess } from '../support/process.ts';

const test = anyTest as TestFn<{ dataDir: string; remove: () => Promise<void> }>;

test.beforeEach(async (t) => {
  const { path, remove } = await createDataDir();
  t.context = { dataDir: path, remove };
});
test.afterEach.always((t) => t.context.remove());

/** Runs a program until it ends. */
async function run(file: string, settings: Readonly<Record<string, string>>) {
  const process_ = new TestProcess(file, settings);
  const { code } = await process_.ended;
  const said = process_.output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).msg);
  return { code, said, errors: process_.errors };
}

test('Migrate - brings an empty database up to date, and does nothing the second time', async (t) => {
  const settings = { DATA_DIR: t.context.dataDir };
  const last = 'nothing is left to migrate';
  const said = ["the database's schema is up to date now", last];
  t.deepEqual(await run('src/migrate-main.ts', settings), { code: 0, said, errors: '' });
  t.deepEqual(await run('src/migrate-main.ts', settings), { code: 0, said: [last], errors: '' });
});

test('Migrate - with MIGRATE_AT_START=no a server fails with one line before it, and starts after it', async (t) => {
  const settings = { DATA_DIR: t.context.dataDir, MIGRATE_AT_START: 'no' };
  const refused = await run('src/main.ts', settings);
  t.is(refused.code, 1);
  t.regex(refused.errors, /^petstore: the database lacks the migrations 001-catalogue, .*: run "npm run migrate".*\n$/);
  t.is((await run('src/migrate-main.ts', settings)).code, 0);
  const server = await startServerProcess(t.context.dataDir, settings);
  t.truthy(await server.grpc.category());
  server.grpc.close();
  t.deepEqual(await server.end('SIGTERM'), { code: 0, signal: null });
});

test('Migrate - refuses the schema of a newer release with one line, as a server does', async (t) => {
  const file = join(t.context.dataDir, 'petstore.sqlite');
  const engine = await openSqlite(file, MIGRATIONS);
  const sql = "INSERT INTO schema_migrations (name, batch) VALUES ('999-future', 1)";
  await engine.write(compile('future', engine.knex.raw(sql)), {});
  await engine.close();
  const before = await readFile(file);
  for (const program of ['src/migrate-main.ts', 'src/main.ts']) {
    const { code, errors } = await run(program, { DATA_DIR: t.context.dataDir });
    t.is(code, 1);
    t.regex(errors, /^petstore: the database has the migrations 999-future of a newer release, .*\n$/);
  }
  t.deepEqual(await readFile(file), before);
});
