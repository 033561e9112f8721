/** What becomes of counts that can't be stored at once. */
import test from 'ava';
import pino from 'pino';
import { createMemoryLimiter } from '../../src/limits/memory.ts';
import { createUsageRecorder } from '../../src/limits/usage-recorder.ts';
import type { Store } from '../../src/storage/store.ts';
import { createTestStore } from '../support/database.ts';

const QUOTA = { perMinute: 1_000, perDay: 1_000 };

function recorderOn(store: Store) {
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const ban = { refusals: 20, windowMs: 60_000, durationMs: 60_000 };
  const limiter = createMemoryLimiter({ ban, addresses: { perMinute: 1, maxTracked: 1 } });
  const use = (accountId: bigint) =>
    limiter.admit({ kind: 'account', subject: String(accountId), key: '1', quota: QUOTA, nowMs: 0 });
  return { recorder: createUsageRecorder(store, limiter, logger), use, lines };
}

test('Usage - that can not be stored is kept, said once, and stored when it can', async (t) => {
  const store = await createTestStore();
  t.teardown(() => store.close());
  const account = { name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 } as const;
  const { id } = await store.write((tx) => tx.accounts.insert(account));
  let isAway = true;
  const moody: Store = {
    ...store,
    transaction: (work, isWanted) => (isAway ? Promise.reject(new Error('away')) : store.transaction(work, isWanted)),
  };
  const { recorder, use, lines } = recorderOn(moody);
  for (let round = 0; round < 3; round += 1) {
    use(id);
    await t.throwsAsync(recorder.flush(), { message: 'away' });
  }
  use(id);
  await new Promise((resolve) => setTimeout(resolve, 1_500)); // by itself, too
  t.deepEqual(lines, ['usage is not stored yet: trying again']);
  isAway = false;
  await recorder.flush();
  t.like(await store.usage.ofAccount(id, 0), [{ dayIndex: 0, requests: 4, refused: 0 }]);
  await recorder.close();
});

test('Usage - that can not be stored at the end does not keep the server from stopping', async (t) => {
  const store = await createTestStore();
  t.teardown(() => store.close());
  const { recorder, use, lines } = recorderOn({ ...store, transaction: () => Promise.reject(new Error('away')) });
  use(1n);
  await recorder.close();
  t.deepEqual(lines, ['the last usage is not stored']);
});
