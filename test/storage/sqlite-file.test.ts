/** What SQLite's own settings and files guarantee, and how writes share its commits. */
import { statSync } from 'node:fs';
import { ConfigError } from '../../src/platform/config/setting.ts';
import type { Runner } from '../../src/platform/storage/engine.ts';
import { SqliteConnection } from '../../src/platform/storage/sqlite-connection.ts';
import { compile } from '../../src/platform/storage/statement.ts';
import { createStore } from '../../src/platform/storage/store.ts';
import { TABLES } from '../../src/schema.ts';
import { createTestDatabase } from '../support/machine/database.ts';
import { fresh, type SharedBy } from '../support/service/sharing.ts';

const test = fresh(undefined, async (t) => {
  const database = createTestDatabase(t);
  const engine = await database.open();
  t.teardown(() => engine.close().catch(() => undefined)); // a test may have closed it
  return { database, engine };
});
type Context = SharedBy<typeof test>;

const CATS = { name: 'Cats', description: undefined };
const ORPHAN = "INSERT INTO pets (name, category_id, status) VALUES ('Tom', 999, 'sold')";

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

test('SQLite - a start with ids that would be read inexactly is refused', async (t) => {
  const { database } = t.context;
  const sequence = (seq: string) =>
    write(t.context, (run) => run(`INSERT OR REPLACE INTO sqlite_sequence (name, seq) VALUES ('pets', ${seq})`));
  await sequence('4503599627370496');
  await (await database.open()).close();
  await sequence('9007199254740993');
  await t.throwsAsync(database.open(), { instanceOf: ConfigError, message: /the ids of pets are too large/ });
});

test('SQLite - temporary data stays in memory: the disk of temporary files may be full', async (t) => {
  const MEMORY = 2;
  t.deepEqual(await read(t.context, 'PRAGMA temp_store'), [{ temp_store: MEMORY }]);
  t.deepEqual(await write(t.context, (run) => run('PRAGMA temp_store')), [{ temp_store: MEMORY }]);
});

test('SQLite - the read connection can not write', async (t) => {
  await t.throwsAsync(read(t.context, "INSERT INTO categories (name) VALUES ('Cats')"), { message: /readonly/ });
});

test('SQLite - the WAL, which grows while a backup reads, shrinks after it', async (t) => {
  const wal = () => statSync(`${t.context.database.file}-wal`).size;
  const add = () => write(t.context, (run) => run('INSERT INTO categories (name) VALUES (hex(zeroblob(4000000)))'));
  const backup = await SqliteConnection.open(t.context.database.file, ['BEGIN', 'SELECT count(*) FROM categories']);
  for (let count = 0; count < 3; count += 1) await add();
  t.true(wal() > 24_000_000, `${wal()} bytes`);
  await backup.close();
  await add(); // moves what is there into the file
  await write(t.context, (run) => run("INSERT INTO categories (name) VALUES ('Cats')")); // begins the WAL anew
  t.true(wal() <= 16_777_216, `${wal()} bytes`);
});

test.serial('Commit - writes run in the order of arrival, at most 256 share one', async (t) => {
  const commands: string[] = [];
  const { exec } = SqliteConnection.prototype;
  SqliteConnection.prototype.exec = function (sql) {
    commands.push(sql);
    return exec.call(this, sql);
  };
  t.teardown(() => Object.assign(SqliteConnection.prototype, { exec }));
  const store = createStore(t.context.engine, TABLES);
  const add = (_: unknown, index: number) =>
    store[index % 3 === 0 ? 'write' : 'transaction']((tx) => tx.categories.insert(CATS));
  const ids = (await Promise.all(Array.from({ length: 600 }, add))).map(({ id }) => Number(id));
  t.deepEqual(
    ids,
    ids.map((_, index) => index + 1),
  );
  t.is(commands.filter((sql) => sql.endsWith('COMMIT')).length, 3);
});

test('Commit - a failed commit fails its whole group with its error, refusals too, and stores nothing', async (t) => {
  const { engine } = t.context;
  const store = createStore(engine, TABLES);
  const kept = await store.transaction((tx) => tx.categories.insert(CATS));
  const works = Array.from({ length: 10 }, (_, index) =>
    write(t.context, async (run) => {
      await run("INSERT INTO categories (name) VALUES ('Lost')");
      if (index === 2) throw new Error('refused');
      if (index !== 4) return;
      await run('PRAGMA defer_foreign_keys = ON'); // fails at the commit, not earlier
      await run(ORPHAN);
    }),
  );
  for (const result of await Promise.allSettled(works)) {
    t.regex(result.status === 'rejected' ? result.reason.message : '', /FOREIGN KEY/);
  }
  t.deepEqual((await store.categories.page({ after: 0n, limit: 100 })).rows, [kept]);
  t.truthy(await store.transaction((tx) => tx.categories.insert(CATS)));
});
