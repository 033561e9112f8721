import anyTest, { type TestFn } from 'ava';
import pino from 'pino';
import type { Store } from '../../src/schema.ts';
import { startRetention } from '../../src/storage/retention.ts';
import { createTestStore } from '../support/database.ts';
import { until } from '../support/until.ts';

const NOW_MS = Date.UTC(2026, 6, 1);
const silent = pino({ level: 'silent' });

const test = anyTest as TestFn<{ store: Store }>;

test.beforeEach(async (t) => {
  t.context = { store: await createTestStore() };
});
test.afterEach.always((t) => t.context.store.close());

async function fill(store: Store, name: string, count: number, createdAtMs: number): Promise<void> {
  const empty = Buffer.alloc(0);
  await store.transaction(async ({ idempotency }) => {
    for (let index = 0; index < count; index += 1) {
      await idempotency.insert({ id: `${name}-${index}`, requestDigest: empty, response: empty, createdAtMs });
    }
  });
}

test('Retention - deletes in bounded statements with other writes between them, and keeps recent rows', async (t) => {
  const { store } = t.context;
  await fill(store, 'old', 1_000, NOW_MS - 1);
  await fill(store, 'young', 3, NOW_MS);
  const events: (number | 'write')[] = [];
  const portions = () => events.filter((event) => event !== 'write');
  const deletePortion = async (maxRows: number) => {
    const deleted = await store.write(({ idempotency }) => idempotency.deleteOldest(maxRows, NOW_MS));
    events.push(deleted);
    return deleted;
  };
  const stop = startRetention({ 'idempotency records': deletePortion }, silent);
  while (portions().length < 5) {
    await store.write((tx) => tx.categories.insert({ name: 'Cats', description: undefined }));
    events.push('write');
  }
  await stop();
  t.deepEqual(portions(), [250, 250, 250, 250, 0]);
  for (const [index, event] of events.entries()) if (event !== 'write') t.is(events[index + 1], 'write');
  t.is(await store.idempotency.find('old-999'), undefined);
  for (const id of ['young-0', 'young-1', 'young-2']) t.is((await store.idempotency.find(id))?.id, id);
});

test('Retention - a failed deletion is logged, and prevents neither other deletions nor a shutdown', async (t) => {
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const deletePortion = () => Promise.reject(new Error('away'));
  const others = async () => Number(lines.push('others are deleted'));
  const stop = startRetention({ usage: deletePortion, others }, logger);
  await until(() => lines.length > 1, 'the log line');
  await stop();
  t.deepEqual(lines, ['old usage: not deleted yet, trying again in an hour', 'others are deleted']);
});
