/** Shutdown of the server: it refuses new calls, finishes open ones, closes the database and exits with 0. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client, status as Code, type ServiceError } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { MIGRATIONS, TABLES } from '../../src/schema.ts';
import { toCategoryId } from '../../src/shop/model.ts';
import { openSqlite } from '../../src/storage/sqlite.ts';
import { createStore } from '../../src/storage/store.ts';
import { bearer, insecure, unary } from '../support/grpc.ts';
import { createDataDir, type ServerProcess, startServerProcess } from '../support/process.ts';
import { beginCall } from '../support/unfinished-call.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<{ server: ServerProcess; remove: () => Promise<void> }>;

test.beforeEach(async (t) => {
  const { path, remove } = await createDataDir();
  t.context = { server: await startServerProcess(path), remove };
});
test.afterEach.always(async (t) => {
  const { server, remove } = t.context;
  server.grpc.close();
  await server.end('SIGKILL');
  await remove();
});

const CLEAN = { code: 0, signal: null };

function filesOf({ dataDir }: ServerProcess): string[] {
  return readdirSync(dataDir).filter((name) => name.includes('sqlite'));
}

/** Whether a new connection is refused. */
async function isRefused({ address, key }: ServerProcess): Promise<boolean> {
  const client = new Client(address, insecure);
  try {
    await unary(client, Categories.listCategories, { pageToken: '' }, bearer(key));
    return false;
  } catch (error) {
    return (error as ServiceError).code === Code.UNAVAILABLE;
  } finally {
    client.close();
  }
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} - an idle server exits with 0 and leaves one closed database file`, async (t) => {
    const { server } = t.context;
    await server.grpc.category();
    t.deepEqual(await server.end(signal), CLEAN);
    t.deepEqual(filesOf(server), ['petstore.sqlite']);
    t.is(server.errors, '');
    const lines = server.output.trim().split('\n');
    t.deepEqual(
      lines.map((line) => JSON.parse(line).msg),
      ["the database's schema is up to date now", 'serving', 'draining', 'stopped'],
    );
  });
}

test('SIGTERM - an open call finishes and its write is kept, while new calls are refused', async (t) => {
  const { server } = t.context;
  const call = await beginCall(server.address, server.key, Categories.createCategory, { category: { name: 'Late' } });
  server.process.kill('SIGTERM');
  await server.says(/"draining"/);
  await until(() => isRefused(server), 'the refusal of new calls');
  t.false(server.hasEnded);
  const { id, name } = await call.finish();
  t.is(name, 'Late');
  t.deepEqual(await server.ended, CLEAN);
  t.deepEqual(filesOf(server), ['petstore.sqlite']);
  const store = createStore(await openSqlite(join(server.dataDir, 'petstore.sqlite'), MIGRATIONS), TABLES);
  t.is((await store.categories.find(toCategoryId(id)))?.name, 'Late');
  await store.close();
});

test('SIGTERM - during many writes keeps the successful ones, and the others get an error', async (t) => {
  const { server } = t.context;
  const kept: bigint[] = [];
  const codes = new Set<Code>();
  const writers = Array.from({ length: 16 }, async () => {
    for (;;) {
      try {
        kept.push(await server.grpc.category());
      } catch (error) {
        codes.add((error as ServiceError).code);
        return;
      }
    }
  });
  await until(() => kept.length > 100, 'the first writes');
  t.deepEqual(await server.end('SIGTERM'), CLEAN);
  await Promise.all(writers);
  t.deepEqual([...codes], [Code.UNAVAILABLE]);
  const store = createStore(await openSqlite(join(server.dataDir, 'petstore.sqlite'), MIGRATIONS), TABLES);
  const found = await Promise.all(kept.map((id) => store.categories.find(toCategoryId(id))));
  t.false(found.includes(undefined));
  await store.close();
});

test('SIGTERM - a call that does not end is cut off after 10 seconds', async (t) => {
  const { server } = t.context;
  const call = await beginCall(server.address, server.key, Categories.createCategory, { category: { name: 'Never' } });
  const beganMs = performance.now();
  t.deepEqual(await server.end('SIGTERM'), CLEAN);
  const tookMs = performance.now() - beganMs;
  t.true(tookMs > 9_500 && tookMs < 15_000, `${tookMs} ms`);
  await t.throwsAsync(call.answered);
  t.deepEqual(filesOf(server), ['petstore.sqlite']);
  call.close();
});
