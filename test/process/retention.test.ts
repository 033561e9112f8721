import test from 'ava';
import pino from 'pino';
import { startRetention } from '../../src/platform/process/retention.ts';
import { newCategory } from '../storage/suite/database.ts';
import { NOW_MS } from '../storage/suite/rows.ts';
import { createTestStore } from '../support/machine/database.ts';
import { until } from '../support/until.ts';

test('Retention - deletes in bounded statements with other writes between them, and keeps recent rows', async (t) => {
  const store = await createTestStore(t);
  const [requestDigest, response] = [Buffer.alloc(0), Buffer.alloc(0)];
  await store.transaction(async ({ idempotency }) => {
    for (let index = 0; index < 1_003; index += 1) {
      const createdAtMs = NOW_MS - (index < 1_000 ? 1 : 0);
      await idempotency.insert({ id: `${index}`, requestDigest, response, createdAtMs });
    }
  });
  const events: (number | 'write')[] = [];
  const portions = () => events.filter((event) => event !== 'write');
  const deletePortion = async (maxRows: number, nowMs: number) => {
    const deleted = await store.transaction(({ idempotency }) => idempotency.deleteOldest(maxRows, nowMs, 0));
    events.push(deleted);
    return deleted;
  };
  const stop = startRetention(() => NOW_MS, pino({ level: 'silent' }), { 'idempotency records': deletePortion });
  while (portions().length < 5) {
    await newCategory(store);
    events.push('write');
  }
  await stop();
  t.deepEqual(portions(), [250, 250, 250, 250, 0]);
  for (const [index, event] of events.entries()) if (event !== 'write') t.is(events[index + 1], 'write');
  const left = await Promise.all(['999', '1000', '1002'].map((id) => store.idempotency.find(id)));
  const ids = left.map((record) => record?.id);
  t.deepEqual(ids, [undefined, '1000', '1002']);
});

test('Retention - a failed deletion is logged, and prevents neither other deletions nor a shutdown', async (t) => {
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const deletePortion = () => Promise.reject(new Error('away'));
  const others = async () => Number(lines.push('others are deleted'));
  const stop = startRetention(Date.now, logger, { usage: deletePortion, others });
  await until(() => lines.length > 1, 'the log line');
  await stop();
  t.deepEqual(lines, ['old usage: not deleted yet, trying again in an hour', 'others are deleted']);
});
