import anyTest, { type TestFn } from 'ava';
import pino from 'pino';
import { createIdempotencyExpiry } from '../src/idempotency-expiry.ts';
import type { Store } from '../src/storage/store.ts';
import { createTestStore } from './support/database.ts';
import { until } from './support/until.ts';

const HOUR_MS = 3_600_000;
const quiet = pino({ level: 'silent' });

const test = anyTest as TestFn<{ store: Store }>;

test.beforeEach(async (t) => {
  t.context = { store: await createTestStore() };
});
test.afterEach.always((t) => t.context.store.close());

async function fill(store: Store, name: string, count: number, createdAtMs: number): Promise<void> {
  const empty = Buffer.alloc(0);
  await store.transaction(async ({ idempotency }) => {
    for (let index = 0; index < count; index += 1) {
      await idempotency.insert({ id: `${name}-${index}`, requestDigest: empty, answer: empty, createdAtMs });
    }
  });
}

test('Expiry - records older than the setting go by themselves, and younger ones stay', async (t) => {
  const { store } = t.context;
  await fill(store, 'old', 1_700, Date.now() - 2 * HOUR_MS);
  await fill(store, 'young', 3, Date.now() - HOUR_MS / 2);
  const expiry = createIdempotencyExpiry(store, HOUR_MS, quiet);
  await until(async () => (await store.idempotency.find('old-1699')) === undefined, 'the end of the old records');
  await expiry.close();
  t.is(await store.idempotency.find('old-0'), undefined);
  for (const id of ['young-0', 'young-1', 'young-2']) t.is((await store.idempotency.find(id))?.id, id);
});

test('Expiry - a portion is bounded, and between any two of them writes have their turn', async (t) => {
  const { store } = t.context;
  await fill(store, 'old', 2_000, 0);
  const events: (number | 'write')[] = [];
  const watched: Store = {
    ...store,
    async write(work, isWanted, remember) {
      const deleted = await store.write(work, isWanted, remember);
      events.push(deleted as number);
      return deleted;
    },
  };
  const portions = () => events.filter((event) => event !== 'write');
  const expiry = createIdempotencyExpiry(watched, HOUR_MS, quiet);
  while (portions().length < 5) {
    await store.write((tx) => tx.categories.insert({ name: 'Cats', description: undefined }));
    events.push('write');
  }
  await expiry.close();
  t.deepEqual(portions(), [500, 500, 500, 500, 0]);
  for (const [index, event] of events.entries()) if (event !== 'write') t.is(events[index + 1], 'write');
});

test('Expiry - what can not be deleted is said, and does not keep the server from stopping', async (t) => {
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const away: Store = { ...t.context.store, write: () => Promise.reject(new Error('away')) };
  const expiry = createIdempotencyExpiry(away, HOUR_MS, logger);
  await until(() => lines.length > 0, 'the complaint');
  await expiry.close();
  t.deepEqual(lines, ['old idempotency records are not deleted yet: trying again']);
});
