/** A start that fails: what it says. The demo account. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { mock } from 'node:test';
import test from 'ava';
import { demoKeyFile, ensureDemoKey } from '../src/platform/access/keys/key-files.ts';
import { ConfigError, readConfig, TemporaryFailure } from '../src/platform/config/config.ts';
import { explain } from '../src/platform/process/database.ts';
import { createService } from '../src/service.ts';
import { createTestDatabase, holdTransaction } from './support/machine/database.ts';
import { startTestServer } from './support/service/server.ts';

const log = { write: () => undefined };

test('Service - a start that finds the SQLite file locked says so, and not that the disk is full', async (t) => {
  const { file, open } = createTestDatabase(t);
  const other = await open(); // creates the tables, but no demo account
  const release = await holdTransaction(other);
  const config = readConfig({ DATA_DIR: dirname(file) });
  const error = await t.throwsAsync(createService(config, { log, auditLog: log }), { instanceOf: TemporaryFailure });
  t.regex(error?.message ?? '', /^another process keeps the SQLite file in .*: end it, or wait until it is done$/);
  await release();
  await other.close();
});

test('Service - a start says why a SQLite file can not be used, and nothing else', async (t) => {
  const { file, open } = createTestDatabase(t);
  await (await open()).close();
  const print = mock.method(console, 'log', () => undefined);
  const good = await readFile(file);
  const spoil = (at: number) => () => writeFile(file, good.fill(9, at, at + 1));
  for (const [code, make] of Object.entries({
    READONLY: spoil(18), // the version for writes
    CORRUPT: spoil(100), // the schema
    CANTOPEN: () => rm(file).then(() => mkdir(file)),
  })) {
    await make();
    const message = new RegExp(`SQLITE_${code}.*restore a backup$`);
    const started = createService(readConfig({ DATA_DIR: dirname(file) }), { log, auditLog: log });
    await t.throwsAsync(started, { instanceOf: ConfigError, message });
  }
  t.is(print.mock.callCount(), 0);
  const noRoom = explain(Object.assign(new Error(), { code: 'ENOSPC' }), readConfig({ DATA_DIR: dirname(file) }));
  t.regex(`${noRoom}`, /no room to write in/, 'for a key file');
});

test('Demo account - is for a new database alone, also when the record of its creation has been deleted', async (t) => {
  const { store, database, key } = await startTestServer(t);
  await store.transaction(({ idempotency }) => idempotency.deleteOldest(10, Date.now() + 1, 0));
  const folder = dirname(database.file);
  await ensureDemoKey(store, folder);
  t.is((await readFile(demoKeyFile(folder), 'utf8')).trim(), key);
});
