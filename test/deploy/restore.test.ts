/**
 * `deploy/restore.ts` with SQLite: what it refuses, what it keeps, and what it says. It is killed before each of its
 * system calls that change a file: what a start finds is never empty. The calls of `deploy/backup.ts` make a backup
 * durable.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { ConfigError } from '../../src/platform/config/config.ts';
import { change } from '../support/machine/database.ts';
import { missing } from '../support/machine/find-program.ts';
import { temporaryFolder } from '../support/scope.ts';
import { Program, startServerProcess } from '../support/service/process.ts';
import { testUnless } from '../support/service/sharing.ts';
import { backup, categoriesIn, DEPLOY, fails, makeCrashedStore, makeStore, run, startOn, succeeds } from './backups.ts';

const straceTest = testUnless<unknown>(missing('strace'));

/** The places of a test. The data folder does not exist yet. */
function places(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const dataDir = join(folder, 'data');
  return { folder, dataDir, settings: { DATA_DIR: dataDir } };
}

async function backupOf(folder: string, category: string): Promise<string> {
  const dataDir = join(folder, `data of ${category}`);
  await makeStore(dataDir, category);
  return backup(join(folder, `backups of ${category}`), { DATA_DIR: dataDir });
}

function kept(dataDir: string): readonly string[] {
  const names = readdirSync(dataDir).filter((name) => name.startsWith('before-restore-'));
  return names.sort().map((name) => join(dataDir, name));
}

test('Restore - after a crash: what was there is kept whole, and can be restored in turn', async (t) => {
  const { folder, dataDir, settings } = places(t);
  const file = await backupOf(folder, 'backed up');
  await makeCrashedStore(dataDir, 'crashed');
  const output = await succeeds(t, run('restore', [file], settings));
  const [where = ''] = kept(dataDir);
  t.is(output, `restored ${file}\nkept what was there: ${where}\n`);
  t.deepEqual(categoriesIn(dataDir), ['backed up']);
  t.is(readFileSync(join(where, 'operator.key'), 'utf8'), 'key of crashed\n');
  await startOn(dataDir);

  await delay(1_100); // the names of what is kept have seconds
  await succeeds(t, run('restore', [join(where, 'petstore.sqlite')], settings));
  t.deepEqual(categoriesIn(dataDir), ['crashed']);
  t.deepEqual(kept(dataDir).map(categoriesIn), [['crashed'], ['backed up']]);
});

test('Restore - no id of an event that the backup lacks is used again', async (t) => {
  const { folder, dataDir, settings } = places(t);
  await makeStore(dataDir, 'backed up');
  const file = await backup(join(folder, 'backups'), settings);
  for (const name of ['later', 'much later']) change(dataDir, `INSERT INTO categories (name) VALUES ('${name}')`);
  let newest = 0;
  for (let time = 0; time < 2; time += 1) {
    await succeeds(t, run('restore', [file], settings));
    await startOn(dataDir);
    change(dataDir, "INSERT INTO categories (name) VALUES ('new')");
    using restored = new DatabaseSync(join(dataDir, 'petstore.sqlite'));
    const id = Number(restored.prepare('SELECT max(id) AS id FROM events').get()?.id);
    t.true(id > newest, 'also when the same backup is restored again');
    newest = id;
    await delay(1_100); // the names of what is kept have seconds
  }
  using database = new DatabaseSync(join(dataDir, 'petstore.sqlite'));
  const [history] = database.prepare('SELECT skipped_after, skipped_upto FROM event_histories').all();
  t.like(database.prepare('SELECT min(id) AS id, count(*) AS n FROM events').get(), { id: 1, n: 2 });
  t.is(history?.skipped_after, 1);
  t.true(newest > 1_000_000_000 && newest > Number(history?.skipped_upto));
});

test('Restore - a damaged store is kept as it is, with its write-ahead log', async (t) => {
  const { folder, dataDir, settings } = places(t);
  const file = await backupOf(folder, 'backed up');
  await makeCrashedStore(dataDir, 'crashed');
  const damaged = Buffer.alloc(8_192, 'no database ');
  writeFileSync(join(dataDir, 'petstore.sqlite'), damaged);
  const log = readFileSync(join(dataDir, 'petstore.sqlite-wal'));
  const output = await succeeds(t, run('restore', [file], settings));
  const [where = ''] = kept(dataDir);
  t.true(output.includes(where) && output.includes('can not be compared'), output);
  t.deepEqual(categoriesIn(dataDir), ['backed up']);
  t.deepEqual(readFileSync(join(where, 'petstore.sqlite')), damaged);
  t.deepEqual(readFileSync(join(where, 'petstore.sqlite-wal')), log);
});

test('Restore - files that are no backup are refused with one line, and nothing changes', async (t) => {
  const { folder, dataDir, settings } = places(t);
  await makeStore(dataDir, 'mine');
  for (const [name, sql, line] of [
    [
      'other',
      'CREATE TABLE schema_migrations (version TEXT); CREATE TABLE posts (id INTEGER)',
      /^petstore: \S+ is no backup of the pet store: it has none of its tables\n$/,
    ],
    [
      'newer',
      "INSERT INTO schema_migrations (name, batch) VALUES ('999-future', 1)",
      /^petstore: \S+ has the migration 999-future of a newer release: restore it with that one\n$/,
    ],
    [
      'orphan',
      "PRAGMA foreign_keys = OFF; INSERT INTO pets (name, category_id, status) VALUES ('Tom', 99, 'sold')",
      /^petstore: \S+ is damaged: pets refers to a row that is not there\n$/,
    ],
  ] as const) {
    const source = join(folder, name);
    if (name === 'other') mkdirSync(source);
    else await makeStore(source, 'a');
    change(source, sql);
    await fails(t, run('restore', [join(source, 'petstore.sqlite')], settings), line);
  }
  t.deepEqual(readdirSync(dataDir), ['operator.key', 'petstore.sqlite', 'service.lock']);
  t.deepEqual(categoriesIn(dataDir), ['mine']);
});

test('Restore - is refused while a server runs without a launcher, or another program uses the file', async (t) => {
  const { folder, dataDir, settings } = places(t);
  const file = await backupOf(folder, 'backed up');
  await makeStore(dataDir, 'mine');
  rmSync(join(dataDir, 'operator.key')); // it is none
  const server = await startServerProcess(t, dataDir);
  const locked = /^petstore: .* in use by another service: stop that one.*\n$/;
  await fails(t, run('restore', [file], settings), locked);
  t.deepEqual(await server.end('SIGINT'), { code: 0, signal: null });

  const other = new DatabaseSync(join(dataDir, 'petstore.sqlite'));
  other.prepare('SELECT * FROM categories').all();
  const used = /^petstore: another process uses \S+petstore\.sqlite: end it first\n$/;
  await fails(t, run('restore', [file], settings), used);
  other.close();
  t.deepEqual(categoriesIn(dataDir), ['mine']);
  t.deepEqual(kept(dataDir), []);
});

test('Restore - lists what was revoked or suspended since the backup, and leaves the operator key', async (t) => {
  const { folder, dataDir, settings } = places(t);
  await makeStore(dataDir, 'mine');
  change(
    dataDir,
    `INSERT INTO accounts (name, plan, suspended, created_at_ms) VALUES ('a', 'free', 0, 1), ('b', 'free', 0, 1);
     INSERT INTO api_keys (account_id, hash, prefix, created_at_ms, revoked_at_ms)
       VALUES (1, x'01', 'pst_aaaa', 1, NULL), (1, x'02', 'pst_bbbb', 1, 7), (2, x'03', 'pst_cccc', 1, NULL)`,
  );
  const file = await backup(join(folder, 'backups'), settings);
  change(dataDir, "UPDATE api_keys SET revoked_at_ms = 9 WHERE hash = x'01'; UPDATE accounts SET suspended = (id = 2)");
  writeFileSync(join(dataDir, 'operator.key'), 'a new key\n');
  const output = await succeeds(t, run('restore', [file], settings));
  t.deepEqual(output.split('\n').slice(2), [
    'valid again: key 1 (pst_aaaa...) of account 1 was revoked: petstore key revoke 1',
    'valid again: account 2 was suspended: petstore account suspend 2',
    '',
  ]);
  t.is(readFileSync(join(dataDir, 'operator.key'), 'utf8'), 'a new key\n');
});

test('Restore - one that was killed prevents an empty store, also after a refused one, until the next', async (t) => {
  const { folder, dataDir, settings } = places(t);
  const [bad, file] = [join(folder, 'bad.sqlite'), await backupOf(folder, 'good')];
  writeFileSync(bad, 'no database');
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'petstore.sqlite.restoring'), 'half of a copy');
  t.is((await run('restore', [bad], settings)).code, 1);
  await t.throwsAsync(startOn(dataDir), { instanceOf: ConfigError, message: /a restore was not finished/ });
  await succeeds(t, run('restore', [file], settings));
  const files = readdirSync(dataDir).filter((name) => name.startsWith('petstore.'));
  t.deepEqual(files, ['petstore.sqlite'], 'restore-sqlite.ts names another file than process/database.ts');
  t.deepEqual(categoriesIn(dataDir), ['good']);
});

/** The system calls that can change a file or a folder. */
const CHANGES =
  'open,openat,creat,mkdir,mkdirat,rmdir,link,linkat,symlink,unlink,unlinkat,rename,renameat,renameat2,' +
  'write,pwrite64,writev,pwritev,copy_file_range,sendfile,truncate,ftruncate,fallocate,fsync,fdatasync,chmod,fchmod';

/** A compile cache that only the first run writes, since calls are counted in later ones. */
const compiled = (folder: string) => ({ NODE_COMPILE_CACHE: join(folder, 'compiled') });

/** Runs a program with its arguments under strace. Resolves with what ended it. */
async function trace(options: string[], dataDir: string, program: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, ...compiled(dirname(dataDir)), DATA_DIR: dataDir };
  const command = ['-f', '-y', ...options, process.execPath, join(DEPLOY, program), ...args];
  const { code, signal } = await new Program('strace', command, { env }).ended;
  return signal ?? (code === 0 ? 'done' : String(code));
}

/**
 * The calls that change something in the folder: their names, and how many of that name the thread has made. Of the
 * same ones in a row, only the first and the last.
 */
function changesIn(log: string, folder: string) {
  const counts = new Map<string, number>();
  const changes = log.split('\n').flatMap((line) => {
    const [, thread = '', call = ''] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    const nth = (counts.get(thread + call) ?? 0) + 1;
    counts.set(thread + call, nth);
    const isReading = call.startsWith('open') && !/O_CREAT|O_TRUNC/.test(line);
    return call !== '' && line.includes(folder) && !isReading ? [{ call, nth }] : [];
  });
  const isSame = (index: number, call: string) => changes[index]?.call === call;
  return changes.filter(({ call }, index) => !isSame(index - 1, call) || !isSame(index + 1, call));
}

straceTest('Backup - each file is durable before it gets its name, the name before the backup is done', async (t) => {
  const folder = temporaryFolder(t);
  const [data, backups, log] = [join(folder, 'data'), join(folder, 'backups'), join(folder, 'log')];
  await makeStore(data, 'new');
  const calls = ['--output', log, '--trace=fsync,rename,renameat,renameat2'];
  t.is(await trace(calls, data, 'backup.ts', '--to', backups), 'done');
  const lines = readFileSync(log, 'utf8').split('\n');
  const named = lines.filter((line) => /rename\w*\(.*\.part"/.test(line));
  t.is(named.length, 2, 'the store and the key');
  for (const line of named) {
    const at = lines.indexOf(line);
    const [, part = ''] = /"([^"]*\.part)"/.exec(line) ?? [];
    t.true(lines[at - 1]?.includes(`fsync(`) && lines[at - 1]?.includes(`<${part}>`), lines[at - 1]);
    t.true(lines[at + 1]?.includes(`fsync(`) && lines[at + 1]?.includes(`<${backups}>`), lines[at + 1]);
  }
});

straceTest('Killed at any moment - a start finds the old store or the new one, and the old one is kept', async (t) => {
  t.timeout(5 * 60_000); // dozens of restores
  const folder = temporaryFolder(t);
  const [before, whole, killed] = [join(folder, 'before'), join(folder, 'whole'), join(folder, 'killed')];
  await makeStore(join(folder, 'source'), 'new');
  const file = await backup(join(folder, 'backups'), { DATA_DIR: join(folder, 'source') });
  await run('restore', [file], { DATA_DIR: join(folder, 'first'), ...compiled(folder) });
  await makeCrashedStore(before, 'old');
  cpSync(before, whole, { recursive: true });
  t.is(await trace(['-o', join(folder, 'log'), `--trace=${CHANGES}`], whole, 'restore.ts', file), 'done');
  const changes = changesIn(readFileSync(join(folder, 'log'), 'utf8'), whole);
  t.true(changes.length > 20, String(changes.length));
  const found = new Set<string>();
  for (const { call, nth } of changes) {
    cpSync(before, killed, { recursive: true });
    const inject = [`--trace=${call}`, `--inject=${call}:signal=SIGKILL:when=${nth}`, '-o', '/dev/null'];
    t.is(await trace(inject, killed, 'restore.ts', file), 'SIGKILL', `${call} ${nth}`);
    await startOn(killed);
    found.add(categoriesIn(killed).join());
    t.is(readFileSync(join(killed, 'operator.key'), 'utf8'), 'key of old\n', `${call} ${nth}`);
    rmSync(killed, { recursive: true });
  }
  t.deepEqual([...found].sort(), ['new', 'old']);
});
