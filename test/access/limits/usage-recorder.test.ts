/** How counts are stored: many accounts in one statement, with retries after a failure. */
import test from 'ava';
import pino from 'pino';
import { createMemoryLimiter } from '../../../src/access/limits/memory.ts';
import { createUsageRecorder, restoreLimits } from '../../../src/access/limits/usage-recorder.ts';
import { toAccountId, toKeyId } from '../../../src/rpc/caller.ts';
import type { Store } from '../../../src/schema.ts';
import { createTestStore } from '../../support/database.ts';
import { until } from '../../support/until.ts';

const DAY_MS = 86_400_000;
const QUOTA = { perMinute: 1_000, perDay: 1_000 };

function recorderOn(store: Store) {
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const ban = { refusals: 20, windowMs: 60_000, durationMs: 60_000 };
  const limiter = createMemoryLimiter({ ban, addresses: { perMinute: 1, maxTracked: 1 } });
  const use = (accountId: bigint, nowMs = 0) =>
    limiter.admit({ kind: 'account', accountId: toAccountId(accountId), keyId: toKeyId(1n), quota: QUOTA, nowMs });
  const recorder = createUsageRecorder(store, logger);
  recorder.start(limiter);
  return { limiter, recorder, use, lines };
}

/** A store whose writes fail until `recover` is called. */
function unavailable(store: Store) {
  let [isUnavailable, attempts] = [true, 0];
  const write: Store['write'] = (work) => {
    attempts += 1;
    return isUnavailable ? Promise.reject(new Error('unavailable')) : store.write(work);
  };
  return {
    store: { ...store, write },
    attempts: () => attempts,
    recover() {
      isUnavailable = false;
    },
  };
}

test('Usage - counts that can not be stored are kept, logged once, and stored later', async (t) => {
  const store = await createTestStore();
  t.teardown(() => store.close());
  const account = { name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 } as const;
  const { id } = await store.write((tx) => tx.accounts.insert(account));
  const { store: failing, attempts, recover } = unavailable(store);
  const { recorder, use, lines } = recorderOn(failing);
  for (let round = 0; round < 3; round += 1) {
    use(id);
    await t.throwsAsync(recorder.flush(), { message: 'unavailable' });
  }
  use(id);
  const before = attempts();
  await until(() => attempts() >= before + 3, 'three attempts by the timer');
  t.deepEqual(lines, ['usage is not stored yet: trying again']);
  recover();
  await recorder.flush();
  t.like(await store.usage.ofAccount(id, 0), [{ dayIndex: 0, requests: 4, refused: 0 }]);
  await recorder.close();
});

test('Usage - while the database hangs one flush runs and one waits, and a stop waits for no more', async (t) => {
  const store = await createTestStore();
  t.teardown(() => store.close());
  const held: (() => void)[] = [];
  const hanging: Store = {
    ...store,
    write: (work) =>
      new Promise((resolve, reject) => {
        held.push(() => store.write(work).then(resolve, reject));
      }),
  };
  const { recorder, use } = recorderOn(hanging);
  const { id } = await store.write((tx) =>
    tx.accounts.insert({ name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 }),
  );
  const flushes: Promise<void>[] = [];
  for (let count = 1; count <= 20; count += 1) {
    use(id);
    flushes.push(recorder.flush());
    await until(() => held.length > 0, 'the first flush');
  }
  t.is(new Set(flushes).size, 2);
  let isClosed = false;
  const closed = recorder.close().then(() => {
    isClosed = true;
  });
  let writes = 0;
  while (!isClosed) {
    for (const release of held.splice(0)) {
      writes += 1;
      release();
    }
    await new Promise(setImmediate);
  }
  await closed;
  t.true(writes <= 4, `${writes} writes`); // two flushes, each with the counts and the last uses
  t.like((await store.usage.ofDay(0))[0], { requests: 20 });
});

test('Usage - a failed last write does not prevent a shutdown', async (t) => {
  const store = await createTestStore();
  t.teardown(() => store.close());
  const { recorder, use, lines } = recorderOn(unavailable(store).store);
  use(1n);
  await recorder.close();
  t.deepEqual(lines, ['the last usage is not stored']);
});

test('Usage - of 5,000 active accounts takes a few statements, and other writes run between them', async (t) => {
  const store = await createTestStore();
  t.teardown(() => store.close());
  const account = { name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 } as const;
  const ids = await store.transaction(async (tx) => {
    const inserted: bigint[] = [];
    for (let count = 0; count < 5_000; count += 1) inserted.push((await tx.accounts.insert(account)).id);
    return inserted;
  });
  let statements = 0;
  const counted: Store = {
    ...store,
    write: (work) => {
      statements += 1;
      return store.write(work);
    },
  };
  const { recorder, use } = recorderOn(counted);
  for (const id of ids) use(id);
  const completed: string[] = [];
  const flushed = recorder.flush().then(() => completed.push('all usage'));
  await store.write(({ categories }) => categories.insert({ name: 'Cats', description: undefined }));
  completed.push('the other write');
  await flushed;
  t.deepEqual(completed, ['the other write', 'all usage']);
  t.true(statements <= 50, `${statements} statements`);
  t.is((await store.usage.ofDay(0)).length, 5_000);
  await recorder.close();
});

test('Bans - of two bans of a key during an outage the later one is stored', async (t) => {
  const store = await createTestStore();
  t.teardown(() => store.close());
  const account = { name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 } as const;
  const { id: accountId } = await store.write((tx) => tx.accounts.insert(account));
  const key = { accountId, prefix: 'pst_', label: undefined, createdAtMs: 0, expiresAtMs: undefined };
  const { id: keyId } = await store.write((tx) => tx.keys.insert(key, Buffer.alloc(32)));
  const { store: failing, recover } = unavailable(store);
  const { recorder } = recorderOn(failing);
  const cause = { durationMs: 5, refusals: 20, window: 'minute' } as const;
  for (const untilMs of [10, 20]) recorder.recordBan({ keyId, untilMs, ...cause });
  await t.throwsAsync(recorder.flush());
  recover();
  await recorder.flush();
  t.deepEqual(await store.bans.ofKeys([keyId], 0), [{ keyId, untilMs: 20, ...cause }]);
  await recorder.close();
});

test('Key uses - are stored with a flush, and once each', async (t) => {
  const store = await createTestStore();
  t.teardown(() => store.close());
  const account = { name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 } as const;
  const { id } = await store.write((tx) => tx.accounts.insert(account));
  let stored = 0;
  const counted: Store = {
    ...store,
    write: (work) =>
      store.write((tx) => {
        const putKeyUses: typeof tx.usage.putKeyUses = (uses) => {
          stored += uses.length;
          return tx.usage.putKeyUses(uses);
        };
        return work({ ...tx, usage: { ...tx.usage, putKeyUses } });
      }),
  };
  const { recorder, use } = recorderOn(counted);
  for (let i = 0; i < 10; i += 1) use(id);
  await recorder.flush();
  await recorder.flush();
  await recorder.close();
  t.deepEqual(await store.usage.lastUses([toKeyId(1n)]), [{ keyId: toKeyId(1n), lastUsedAtMs: 0 }]);
  t.is(stored, 1);
});

for (const [name, aheadMs] of [
  ['ahead', DAY_MS],
  ['behind', -DAY_MS],
] as const) {
  test(`Usage - a server that started with its clock a day ${name} counts on when it is right`, async (t) => {
    const store = await createTestStore();
    t.teardown(() => store.close());
    const account = { name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 } as const;
    const { id } = await store.write((tx) => tx.accounts.insert(account));
    const start = async (clockMs: number) => {
      const { limiter, recorder, use } = recorderOn(store);
      await restoreLimits(store, { ...limiter, now: () => clockMs });
      return { recorder, use };
    };
    const rightMs = 10 * DAY_MS;
    for (const clockMs of [rightMs, rightMs + aheadMs, rightMs + aheadMs]) {
      const { recorder, use } = await start(clockMs);
      for (const nowMs of [clockMs, clockMs, rightMs]) use(id, nowMs);
      await recorder.close();
    }
    const [today] = (await store.usage.ofAccount(id, 0)).filter(({ dayIndex }) => dayIndex === 10);
    t.is(today?.requests, 5);
  });
}
