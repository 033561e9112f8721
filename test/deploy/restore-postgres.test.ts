/** `deploy/restore.ts` with PostgreSQL: its own pg_dump, pg_restore and psql. */
import { chmodSync, writeFileSync } from 'node:fs';
import { runProgram } from '../../deploy/postgres-program.ts';
import { openPostgres } from '../../src/platform/storage/postgres.ts';
import { MIGRATIONS } from '../../src/schema.ts';
import { findProgram } from '../support/machine/find-program.ts';
import { query, startPostgres } from '../support/machine/postgres.ts';
import { temporaryFolder } from '../support/scope.ts';
import { startServerProcess } from '../support/service/process.ts';
import { sharing, type TestOf } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { openPostgresProxy } from '../walk/postgres-proxy.ts';
import { backup, dumpsMissing, fails, run, succeeds } from './backups.ts';

const test = sharing(dumpsMissing, (t) => startPostgres(t, ['fsync=off']));
type Test = TestOf<typeof test>;

/** The places of a test, its database with the category `old`, and a backup of that. */
async function places(t: Test) {
  const [folder, url] = [temporaryFolder(t), await t.context.createDatabase()];
  await migrate(url);
  await query(url, "INSERT INTO categories (name) VALUES ('old')");
  const settings = { DATA_DIR: `${folder}/data`, DATABASE_URL: url };
  return { folder, url, settings, dump: await backup(`${folder}/backups`, settings) };
}

const migrate = async (url: string) => (await openPostgres(url, MIGRATIONS)).close();

async function categories(url: string, schema = 'public'): Promise<readonly unknown[]> {
  return (await query(url, `SELECT name FROM ${schema}.categories ORDER BY id`)).map(({ name }) => name);
}

async function kept(url: string): Promise<readonly string[]> {
  const rows = await query(url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'before_restore_%'");
  return rows.map(({ nspname }) => String(nspname));
}

test('Restore - of PostgreSQL: no id of an event that the dump lacks is used again', async (t) => {
  const { url, settings, dump } = await places(t);
  await query(url, "INSERT INTO categories (name) VALUES ('later')");
  await succeeds(t, run('restore', [dump], settings));
  await migrate(url); // a start
  await query(url, "INSERT INTO categories (name) VALUES ('new')");
  const ids = (await query(url, 'SELECT id FROM events ORDER BY id')).map(({ id }) => Number(id));
  const [, history] = await query(url, 'SELECT skipped_after, skipped_upto FROM event_histories ORDER BY id');
  t.deepEqual([ids[0], ids.length, Number(history?.skipped_after)], [1, 2, 1]);
  t.true(Number(ids[1]) > Number(history?.skipped_upto));
});

/** A migration of a newer release. It fails where its table is already. */
const NEWER = `CREATE TABLE colours (pet_id bigint REFERENCES pets (id));
  INSERT INTO schema_migrations (name, batch, additive) VALUES ('999-colours', 1, true)`;

test('Restore - of a dump from before a migration: it can run again, and what was there is kept', async (t) => {
  const { folder, url, settings, dump } = await places(t);
  await query(url, NEWER);
  await query(
    url,
    `INSERT INTO categories (name) VALUES ('later');
     INSERT INTO pets (name, category_id, status) VALUES ('Tom', 2, 'sold'); INSERT INTO colours VALUES (1)`,
  );
  const output = await succeeds(t, run('restore', [dump], settings));
  const [schema = ''] = await kept(url);
  t.is(output, `restored ${dump}\nkept what was there: the schema ${schema}\n`);
  t.deepEqual(await categories(url), ['old']);
  t.deepEqual(await categories(url, schema), ['old', 'later']);
  await query(url, NEWER);
  await migrate(url);
  await query(url, "INSERT INTO categories (name) VALUES ('new')");
  t.deepEqual(await query(url, 'SELECT max(id)::int AS id FROM categories'), [{ id: 2 }]);

  const next = await backup(`${folder}/backups`, settings);
  const empty = await t.context.createDatabase();
  await succeeds(t, run('restore', [next], { ...settings, DATABASE_URL: empty }));
  t.deepEqual(await kept(empty), [], 'a backup has no kept schema');
  t.deepEqual(await categories(empty), ['old', 'new']);
});

test('Restore - of tables in a schema of their own, also into a database without it', async (t) => {
  const folder = temporaryFolder(t);
  const [url, empty] = [await t.context.createDatabase(), await t.context.createDatabase()];
  const inShop = (database: string) => `${database}?options=-c%20search_path%3Dshop`;
  await query(url, 'CREATE SCHEMA shop');
  await migrate(inShop(url));
  await query(url, "INSERT INTO shop.categories (name) VALUES ('old')");
  const settings = { DATA_DIR: `${folder}/data`, DATABASE_URL: inShop(url) };
  const dump = await backup(`${folder}/backups`, settings);
  for (const database of [url, empty]) {
    await succeeds(t, run('restore', [dump], { ...settings, DATABASE_URL: inShop(database) }));
    t.deepEqual(await categories(database, 'shop'), ['old']);
  }
});

test('Restore - is refused while a server is connected from another DATA_DIR', async (t) => {
  const { folder, url, settings, dump } = await places(t);
  const running = await startServerProcess(t, `${folder}/another`, { DATABASE_URL: url });
  await running.grpc.category();
  const line =
    /^petstore: sessions are connected to the database \(\d+ of \w+\): stop every server and what else is connected\n$/;
  await fails(t, run('restore', [dump], settings), line);
  t.is((await categories(url)).length, 2);
  t.deepEqual(await kept(url), []);
  await running.end('SIGTERM');
});

test('Restore - dumps that are no backup are refused, and nothing changes', async (t) => {
  const { folder, url, settings } = await places(t);
  const [other, newer] = [await t.context.createDatabase(), await t.context.createDatabase()];
  await query(other, 'CREATE TABLE posts (id integer); CREATE TABLE schema_migrations (version text)');
  await migrate(newer);
  await query(newer, "INSERT INTO schema_migrations (name, batch) VALUES ('999-future', 1)");
  const [foreign, future, empty] = [`${folder}/foreign.dump`, `${folder}/future.dump`, `${folder}/.dump`];
  runProgram('pg_dump', ['--format=custom', `--file=${foreign}`], other); // without the checks of a backup
  runProgram('pg_dump', ['--format=custom', `--file=${future}`], newer);
  writeFileSync(empty, '');
  for (const [file, line] of [
    [foreign, /^petstore: .*no backup of the pet store.*\n$/],
    [future, /^petstore: the dump has the migrations 999-future of a newer release: restore it with that one\n$/],
    [empty, /^petstore: .*pg_restore: error: .*\n$/],
  ] as const) {
    await fails(t, run('restore', [file], settings), line);
    t.deepEqual(await categories(url), ['old']);
    t.deepEqual(await kept(url), []);
  }
});

test('Restore - killed in the middle of the dump, nothing has changed', async (t) => {
  const { folder, url, settings, dump } = await places(t);
  await query(url, "INSERT INTO categories (name) VALUES ('later')");
  const programs = programsWith(folder, (real) => `${real} "$@" | head -c 9000\nkill -9 $PPID`);
  const { output } = await run('restore', [dump], { ...settings, ...programs });
  t.is(output, '');
  const others = 'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';
  await until(async () => (await query(url, others)).length === 0, 'the end of psql');
  const half = programsWith(folder, (real) => `${real} "$@"; exit 1`); // at the end of a statement
  await fails(t, run('restore', [dump], { ...settings, ...half }), /^petstore: pg_restore failed\n$/);
  t.deepEqual(await categories(url), ['old', 'later']);
  t.deepEqual(await kept(url), []);
});

test('Restore - whose connection breaks at its COMMIT says whether the backup is there', async (t) => {
  const { url, settings, dump } = await places(t);
  const proxy = await openPostgresProxy(t, Number(new URL(url).port), ['Q']);
  const near = Object.assign(new URL(url), { port: String(proxy.port), search: 'sslmode=disable' }).href;
  const through = { ...settings, DATABASE_URL: near };
  proxy.fail(Number.POSITIVE_INFINITY, 'closes before');
  await succeeds(t, run('restore', [dump], through));
  const commit = proxy.heal().steps.findLastIndex((step) => step.startsWith('Q COMMIT'));
  await query(url, "INSERT INTO categories (name) VALUES ('later')");
  proxy.fail(commit, 'closes before');
  await fails(t, run('restore', [dump], through), /^petstore: .*connection.*\n$/);
  t.deepEqual([await categories(url), (await kept(url)).length], [['old', 'later'], 1]);
  proxy.fail(commit, 'closes after');
  await succeeds(t, run('restore', [dump], through));
  t.deepEqual([await categories(url), (await kept(url)).length], [['old'], 2]);
});

test('Restore - works with the output of pg_restore 17, which sets what PostgreSQL 15 does not know', async (t) => {
  const { folder, url, settings, dump } = await places(t);
  const [set, rest] = ['SET tran', 'saction_timeout = 0;']; // it may come in pieces
  const programs = programsWith(folder, (real) => `echo -n "${set}"; sleep 0.2; echo "${rest}"; ${real} "$@"`);
  await query(url, "INSERT INTO categories (name) VALUES ('later')");
  await succeeds(t, run('restore', [dump], { ...settings, ...programs }));
  t.deepEqual(await categories(url), ['old']);
});

test('Backup - an unreachable database ends with one line, without the password', async (t) => {
  const { folder, settings } = await places(t);
  const DATABASE_URL = 'postgres://petstore:hunter2hunter2@127.0.0.1:1/petstore';
  const line = /^petstore: pg_dump: error: connection to server (?!.*hunter2).+\n$/;
  await fails(t, run('backup', ['--to', `${folder}/backups`], { ...settings, DATABASE_URL }), line);
});

/** A pg_restore that is this script of a shell, except for the list of what is in a dump. */
function programsWith(folder: string, script: (real: string) => string): { readonly PATH: string } {
  const [program, real] = [`${folder}/pg_restore`, findProgram(['pg_restore']) ?? ''];
  writeFileSync(program, `#!/bin/sh\n[ "$1" = --list ] && exec ${real} "$@"\n${script(real)}\n`);
  chmodSync(program, 0o755);
  return { PATH: `${folder}:${process.env.PATH}` };
}
