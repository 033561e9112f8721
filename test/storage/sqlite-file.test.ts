/** What SQLite's own settings and files guarantee. */
import { existsSync } from 'node:fs';
import anyTest, { type TestFn } from 'ava';
import { TABLES } from '../../src/schema.ts';
import { toCategoryId } from '../../src/shop/model.ts';
import type { Engine, Runner } from '../../src/storage/engine.ts';
import { compile } from '../../src/storage/statement.ts';
import { createStore } from '../../src/storage/store.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { holdTransaction } from '../support/hold-transaction.ts';

interface Context {
  readonly database: TestDatabase;
  readonly engine: Engine;
}
const test = anyTest as TestFn<Context>;

test.beforeEach(async (t) => {
  const database = await createTestDatabase();
  t.context = { database, engine: await database.open() };
});
test.afterEach.always(async (t) => {
  await t.context.engine.close().catch(() => undefined); // a test may have closed it
  await t.context.database.remove();
});

const CATS = { name: 'Cats', description: undefined };

/** Runs SQL on the write connection. */
function write<T>(
  { engine }: Context,
  work: (run: (sql: string) => ReturnType<Runner['all']>) => Promise<T>,
): Promise<T> {
  return engine.transaction((tx) => work((sql) => tx.all(compile(sql, engine.knex.raw(sql)), {})));
}

function read({ engine }: Context, sql: string): ReturnType<Runner['all']> {
  return engine.reader.all(compile(sql, engine.knex.raw(sql)), {});
}

test('SQLite - a commit is on disk before it is acknowledged: WAL, synchronous=FULL', async (t) => {
  const FULL = 2;
  t.deepEqual(await read(t.context, 'PRAGMA journal_mode'), [{ journal_mode: 'wal' }]);
  await write(t.context, async (run) => {
    t.deepEqual(await run('PRAGMA journal_mode'), [{ journal_mode: 'wal' }]);
    t.deepEqual(await run('PRAGMA synchronous'), [{ synchronous: FULL }]);
  });
});

test('SQLite - foreign keys are enforced', async (t) => {
  await write(t.context, async (run) => t.deepEqual(await run('PRAGMA foreign_keys'), [{ foreign_keys: 1 }]));
  const orphan = write(t.context, (run) =>
    run("INSERT INTO pets (name, category_id, status) VALUES ('Tom', 7, 'sold')"),
  );
  await t.throwsAsync(orphan, { message: /FOREIGN KEY/ });
});

test('SQLite - the read connection can not write', async (t) => {
  await t.throwsAsync(read(t.context, "INSERT INTO categories (name) VALUES ('Cats')"), { message: /readonly/ });
});

test('SQLite - a closed database is one file: no WAL is left behind', async (t) => {
  const { database, engine } = t.context;
  await engine.close();
  for (let round = 0; round < 40; round += 1) {
    const store = createStore(await database.open(), TABLES);
    await store.transaction((tx) => tx.categories.insert(CATS));
    await store.close();
    t.false(existsSync(`${database.file}-wal`));
    t.false(existsSync(`${database.file}-shm`));
  }
});

test('SQLite - a writer waits until another process releases the file', async (t) => {
  const { database, engine } = t.context;
  const other = await database.open();
  const commit = await holdTransaction(other);
  let isDone = false;
  const waiting = createStore(engine, TABLES)
    .transaction((tx) => tx.categories.insert(CATS))
    .finally(() => {
      isDone = true;
    });
  await createStore(engine, TABLES).categories.find(toCategoryId(1n)); // a complete round trip to the database
  t.false(isDone);
  await commit();
  t.deepEqual(await waiting, { id: 1n, ...CATS });
  await other.close();
});

test('Transactions - run in the order of arrival', async (t) => {
  const store = createStore(t.context.engine, TABLES);
  const ids = await Promise.all(
    Array.from({ length: 100 }, () => store.transaction((tx) => tx.categories.insert(CATS))),
  );
  t.deepEqual(
    ids.map(({ id }) => id),
    Array.from({ length: 100 }, (_, index) => BigInt(index + 1)),
  );
});

test('Migrations - update an empty file, and leave an up-to-date file unchanged', async (t) => {
  const { database, engine } = t.context;
  const schema = () => read(t.context, 'SELECT name, sql FROM sqlite_master ORDER BY name');
  const names = () => read(t.context, 'SELECT name FROM schema_migrations ORDER BY id');
  const [before, applied] = [await schema(), await names()];
  t.true(applied.length >= 3);
  const category = await createStore(engine, TABLES).transaction((tx) => tx.categories.insert(CATS));

  const again = await database.open();
  t.deepEqual(await createStore(again, TABLES).categories.find(category.id), category);
  t.deepEqual([await schema(), await names()], [before, applied]);
  await again.close();
});

test('Migrations - a file that a newer release has changed is refused', async (t) => {
  const { database, engine } = t.context;
  await write(t.context, (run) =>
    run("INSERT INTO schema_migrations (name, batch, migration_time) VALUES ('999-future', 2, 0)"),
  );
  await engine.close();
  await t.throwsAsync(database.open(), { message: /999-future/ });
});

test('Commit - has a bounded number of writes, so that the first does not wait for all', async (t) => {
  const groups: number[] = [];
  const commitListener = { onTurn: () => undefined, onCommitted: (writes: number) => groups.push(writes) };
  const engine = await t.context.database.open({ commitListener });
  const store = createStore(engine, TABLES);
  const kinds = [
    () => store.write((tx) => tx.categories.insert(CATS)),
    () => store.transaction((tx) => tx.categories.insert(CATS)),
  ];
  for (const add of kinds) await Promise.all(Array.from({ length: 600 }, add));
  t.is(
    groups.reduce((sum, writes) => sum + writes, 0),
    1_200,
  );
  t.is(Math.max(...groups), 256);
  await engine.close();
});

test('Commit - a failed commit fails its whole group with its error, and nothing is stored', async (t) => {
  const { engine } = t.context;
  const store = createStore(engine, TABLES);
  const kept = await store.transaction((tx) => tx.categories.insert(CATS));
  const works = Array.from({ length: 10 }, (_, index) =>
    write(t.context, async (run) => {
      await run("INSERT INTO categories (name) VALUES ('Lost')");
      if (index !== 4) return;
      await run('PRAGMA defer_foreign_keys = ON'); // fails at the commit, not earlier
      await run("INSERT INTO pets (name, category_id, status) VALUES ('Tom', 999, 'sold')");
    }),
  );
  for (const result of await Promise.allSettled(works)) {
    t.regex(result.status === 'rejected' ? result.reason.message : '', /FOREIGN KEY/);
  }
  t.deepEqual((await store.categories.page({ after: 0n, limit: 100 })).rows, [kept]);

  const next = await store.transaction((tx) => tx.categories.insert(CATS));
  t.deepEqual(await store.categories.find(next.id), next);
});

test('Commit - a write that was refused before a failed commit gets the error of the commit', async (t) => {
  const { engine } = t.context;
  const refused = engine.transaction(() => Promise.reject(new Error('refused')));
  const failing = write(t.context, async (run) => {
    await run('PRAGMA defer_foreign_keys = ON');
    await run("INSERT INTO pets (name, category_id, status) VALUES ('Tom', 999, 'sold')");
  });
  for (const work of [refused, failing]) await t.throwsAsync(work, { message: /FOREIGN KEY/ });
});

test('Statements - one that can not be prepared rejects its caller, and the next call tries again', async (t) => {
  const { engine, database } = t.context;
  const statement = compile('later', engine.knex.raw('SELECT * FROM later'));
  for (const result of await Promise.allSettled([1, 2, 3].map(() => engine.reader.all(statement, {})))) {
    t.regex(result.status === 'rejected' ? result.reason.message : '', /no such table: later/);
  }
  const inWork = engine.transaction((tx) => tx.all(statement, {}));
  await t.throwsAsync(inWork, { message: /no such table: later/ });
  await write(t.context, (run) => run('CREATE TABLE later (id integer)'));
  t.deepEqual(await engine.reader.all(statement, {}), []);
  t.deepEqual(await engine.transaction((tx) => tx.all(statement, {})), []);
  await engine.close();
  t.false(existsSync(`${database.file}-wal`));
});

test('Look-ups - a database error rejects all waiting look-ups, and later ones succeed', async (t) => {
  const { engine } = t.context;
  const store = createStore(engine, TABLES);
  const { id } = await store.transaction((tx) => tx.categories.insert(CATS));
  await write(t.context, (run) => run('ALTER TABLE categories RENAME TO hidden'));
  const lookups = Array.from({ length: 1_200 }, (_, index) => store.categories.find(toCategoryId(BigInt(index % 600))));
  for (const result of await Promise.allSettled(lookups)) t.is(result.status, 'rejected');
  await write(t.context, (run) => run('ALTER TABLE hidden RENAME TO categories'));
  t.is((await store.categories.find(id))?.id, id);
});
