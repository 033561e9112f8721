/** SQLite: the rules of all engines, its plans, what its settings and files guarantee, how writes share commits. */
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '../../src/platform/config/setting.ts';
import type { Runner } from '../../src/platform/storage/engine.ts';
import { openDatabase, SqliteConnection } from '../../src/platform/storage/sqlite-connection.ts';
import { compile, type Row } from '../../src/platform/storage/statement.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import { createTestDatabase } from '../support/machine/database.ts';
import type { SharedBy } from '../support/service/sharing.ts';
import { CATS, test } from './suite/database.ts';
import { runPlanSuite } from './suite/query-plans.ts';
import { runStorageSuite } from './suite/suite.ts';

type Context = SharedBy<typeof test>;

runStorageSuite(createTestDatabase);
runPlanSuite(undefined, async (t) => {
  const database = createTestDatabase(t);
  const engine = await database.open();
  t.teardown(() => engine.close());
  return {
    engine,
    async searched({ name, sql, bind }, values) {
      const explain = { name: `explain ${name}`, sql: `EXPLAIN QUERY PLAN ${sql}`, bind };
      const all = await engine.reader.all(explain, values);
      // Of pages that share a statement the plan of one is looked at, and lines about a list of ids are left out. No
      // statement may sort: SQLite writes what it sorts to a temporary file when it is large, such as several pages.
      const page = all.find(({ detail }) => detail === 'CO-ROUTINE page');
      const isRead = ({ parent, detail }: Row) => page?.id === parent || /TEMP B-TREE/.test(String(detail));
      const details = (page === undefined ? all : all.filter(isRead)).map(({ detail }) => String(detail));
      const plan = details.filter((line) => !/json_each|LIST SUBQUERY|BLOOM/.test(line)).join('; ');
      const search = /^SEARCH \w+ USING (?:COVERING INDEX|INDEX|INTEGER PRIMARY KEY)[^;()]*\(([^;]*)\)$/.exec(plan);
      const searched = search?.[1]?.replaceAll('rowid', 'id').replaceAll('(?,?)', '?'); // a row of values
      return searched?.replaceAll(/[()]/g, '') ?? plan;
    },
  };
});

type Run = (sql: string) => ReturnType<Runner['all']>;

function write<T>({ engine }: Context, work: (run: Run) => Promise<T>): Promise<T> {
  return engine.transaction((tx) => work((sql) => tx.all(compile(sql, engine.knex.raw(sql)), {})));
}

function read({ engine }: Context, sql: string): ReturnType<Run> {
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

// Serial: SQLite waits for a locked file in one of Node's few threads.
test.serial('SQLite - a start that migrates waits for another process, says so, fails with the reason', async (t) => {
  const database = createTestDatabase(t);
  const other = new SqliteConnection(
    await openDatabase(database.file, ['PRAGMA journal_mode = WAL', 'BEGIN IMMEDIATE']),
  );
  const logged: string[] = [];
  const logger = { info: (_: object, text: string) => void logged.push(text), warn: () => undefined };
  const refused = { instanceOf: StoreUnavailable, message: /SQLITE_BUSY: database is locked$/ };
  await t.throwsAsync(database.open({ maxWaitMs: 1_000, logger }), refused);
  const waiting = database.open({ logger });
  await delay(6_000); // longer than SQLite waits by itself
  await other.exec('COMMIT');
  await (await waiting).close();
  await other.close();
  const text = 'another process is changing the database: waiting for it to be done';
  t.deepEqual(logged, [text, text, 'migrating the database', "the database's schema is up to date now"]);
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
  const [main] = await read(t.context, 'PRAGMA database_list');
  const wal = () => statSync(`${main?.file}-wal`).size;
  const add = () => write(t.context, (run) => run('INSERT INTO categories (name) VALUES (hex(zeroblob(4000000)))'));
  const backup = new SqliteConnection(
    await openDatabase(String(main?.file), ['BEGIN', 'SELECT count(*) FROM categories']),
  );
  for (let count = 0; count < 3; count += 1) await add();
  t.true(wal() > 24_000_000, `${wal()} bytes`);
  await backup.close();
  await add(); // moves what is there into the file
  await write(t.context, (run) => run("INSERT INTO categories (name) VALUES ('Cats')")); // begins the WAL anew
  t.true(wal() <= 16_777_216, `${wal()} bytes`);
});

test.serial('Commit - writes run in the order of arrival; at most 256 share one, of transactions 8', async (t) => {
  const commands: string[] = [];
  const { exec } = SqliteConnection.prototype;
  SqliteConnection.prototype.exec = function (sql) {
    commands.push(sql);
    return exec.call(this, sql);
  };
  t.teardown(() => Object.assign(SqliteConnection.prototype, { exec }));
  const { store } = t.context;
  const add = (how: 'write' | 'transaction') => store[how]((tx) => tx.categories.insert(CATS));
  const mixed = Array.from({ length: 30 }, (_, index) => add(index % 3 === 0 ? 'write' : 'transaction'));
  t.deepEqual(
    (await Promise.all(mixed)).map(({ id }) => Number(id)),
    mixed.map((_, index) => index + 1),
  );
  for (const [how, count] of [
    ['write', 256],
    ['transaction', 8],
  ] as const) {
    commands.length = 0;
    await Promise.all(Array.from({ length: 3 * count }, () => add(how)));
    const commits = commands.filter((sql) => sql.endsWith('COMMIT')).length;
    t.true(commits >= 3 && commits < 3 * count, `${how}: ${commits}`); // on a busy machine they end sooner, after 20 ms
  }
});
