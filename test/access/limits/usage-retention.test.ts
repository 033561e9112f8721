/** Old usage is deleted in portions. */
import test from 'ava';
import pino from 'pino';
import { deleteOldUsage } from '../../../src/access/limits/usage-recorder.ts';
import { dayStartMs } from '../../../src/access/limits/windows.ts';
import type { Store } from '../../../src/schema.ts';
import { startRetention } from '../../../src/storage/retention.ts';
import { createTestStore } from '../../support/database.ts';
import { until } from '../../support/until.ts';

const TODAY = 20_000;
const silent = pino({ level: 'silent' });
const nowMs = () => dayStartMs(TODAY) + 1;

/** Inserts accounts with usage on each of the days. */
async function fill(store: Store, accounts: number, dayIndexes: readonly number[]): Promise<void> {
  const account = { name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 } as const;
  await store.transaction(async (tx) => {
    for (let count = 0; count < accounts; count += 1) {
      const { id: accountId } = await tx.accounts.insert(account);
      await tx.usage.put(dayIndexes.map((dayIndex) => ({ accountId, dayIndex, requests: 1, refused: 0 })));
    }
  });
}

async function rowsOf(store: Store, dayIndex: number): Promise<number> {
  return (await store.usage.ofDay(dayIndex)).length;
}

test('Usage retention - usage older than the limit is deleted in many portions, and the rest is kept', async (t) => {
  const store = await createTestStore();
  t.teardown(() => store.close());
  await fill(store, 1_000, [TODAY - 500, TODAY - 401, TODAY - 400, TODAY]);
  let largest = 0;
  const counted: Store = {
    ...store,
    write: async (work) => {
      const deleted = await store.write(work);
      largest = Math.max(largest, Number(deleted));
      return deleted;
    },
  };
  const stop = startRetention({ usage: deleteOldUsage(counted, 400, nowMs) }, silent);
  await until(async () => (await rowsOf(store, TODAY - 401)) === 0, 'the last portion');
  await stop();
  t.is(await rowsOf(store, TODAY - 500), 0);
  t.is(await rowsOf(store, TODAY - 400), 1_000);
  t.is(await rowsOf(store, TODAY), 1_000);
  t.is(largest, 250);
});

test('Usage retention - a clock that is a day ahead deletes nothing of today, however little is kept', async (t) => {
  const store = await createTestStore();
  t.teardown(() => store.close());
  await fill(store, 1, [TODAY - 1, TODAY]);
  const ahead = () => nowMs() + 86_400_000;
  const stop = startRetention({ usage: deleteOldUsage(store, 1, ahead) }, silent);
  await until(async () => (await rowsOf(store, TODAY - 1)) === 0, 'the portion');
  await stop();
  t.is(await rowsOf(store, TODAY), 1);
});

test('Usage retention - an unavailable database is logged, and does not block a stop', async (t) => {
  const store = await createTestStore();
  t.teardown(() => store.close());
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const failing: Store = { ...store, write: () => Promise.reject(new Error('unavailable')) };
  const stop = startRetention({ usage: deleteOldUsage(failing, 400, nowMs) }, logger);
  await until(() => lines.length > 0, 'the log line');
  await stop();
  t.deepEqual(lines, ['old usage: not deleted yet, trying again in an hour']);
});
