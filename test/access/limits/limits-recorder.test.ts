/** How counts are stored, with retries, and how old ones are deleted. */
import pino from 'pino';
import {
  createLimitsRecorder,
  deleteOldUsage,
  restoreLimits,
} from '../../../src/platform/access/limits/limits-recorder.ts';
import { createMemoryLimiter } from '../../../src/platform/access/limits/memory.ts';
import { dayStartMs } from '../../../src/platform/access/limits/windows.ts';
import { type AccountId, toAccountId, toKeyId } from '../../../src/platform/rpc/caller.ts';
import type { Store } from '../../../src/schema.ts';
import { createTestStore } from '../../support/machine/database.ts';
import { fresh } from '../../support/service/sharing.ts';
import { until } from '../../support/until.ts';
import { ACCOUNT, OPTIONS } from './suite/rules.ts';

const SHOP = { name: 'Shop', plan: 'free', agreed: undefined, isSuspended: false, createdAtMs: 0 } as const;

const test = fresh(undefined, async (t) => {
  const store = await createTestStore(t);
  return { store, id: (await store.write((tx) => tx.accounts.insert(SHOP))).id };
});

function recorderOn(store: Store) {
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const limiter = createMemoryLimiter(OPTIONS);
  const use = (accountId: AccountId, nowMs = 0) => limiter.admit({ ...ACCOUNT, accountId, nowMs });
  const recorder = createLimitsRecorder(store, limiter, logger);
  return { limiter, recorder, use, lines };
}

/** A store whose writes pass through `around`. */
function wrap(store: Store, around: (write: () => Promise<unknown>) => Promise<unknown>): Store {
  return { ...store, write: (work) => around(() => store.write(work)) as ReturnType<typeof work> };
}

/** A store whose writes fail while it is away. */
function unavailable(store: Store) {
  const state = { isAway: true, attempts: 0 };
  const failing = wrap(store, (write) => {
    state.attempts += 1;
    return state.isAway ? Promise.reject(new Error('unavailable')) : write();
  });
  return { failing, state };
}

test('Usage - counts that can not be stored are kept, logged once, stored later, and restored', async (t) => {
  const { store, id } = t.context;
  const { failing, state } = unavailable(store);
  const { recorder, use, lines } = recorderOn(failing);
  for (let round = 0; round < 3; round += 1) {
    use(id);
    await t.throwsAsync(recorder.flush(), { message: 'unavailable' });
  }
  use(id);
  const before = state.attempts;
  await until(() => state.attempts >= before + 2, 'two attempts by the timer');
  t.deepEqual(lines, ['usage is not stored yet: trying again']);
  state.isAway = false;
  await recorder.flush();
  t.like(await store.usage.ofAccount(id, 0), [{ dayIndex: 0, requests: 4, refused: 0 }]);
  await recorder.close();

  const restarted = createMemoryLimiter(OPTIONS);
  await restoreLimits(store, { ...restarted, now: () => 0 });
  t.like(restarted.peek({ ...ACCOUNT, accountId: id, nowMs: 0 }), { windows: [{ used: 0 }, { used: 4 }] });
});

test('Usage - of an account or a key that is gone is dropped and logged, and the others’ is stored', async (t) => {
  const { store, id } = t.context;
  const { recorder, use, lines } = recorderOn(store);
  use(id);
  use(toAccountId(id + 1n));
  recorder.recordBan({ keyId: toKeyId(99n), untilMs: 20, durationMs: 5, refusals: 20, window: 'minute' });
  await recorder.flush();
  t.like(await store.usage.ofDay(0), { length: 1, 0: { accountId: id, requests: 1 } });
  t.is(recorder.backlog, 0);
  t.deepEqual(new Set(lines), new Set(['usage and bans of accounts and keys that are gone are dropped']));
  await recorder.close();
});

test('Usage - while the database hangs one flush runs and one waits, and a stop waits for no more', async (t) => {
  const { store, id } = t.context;
  const held: (() => void)[] = [];
  let writes = 0;
  const { recorder, use } = recorderOn(
    wrap(store, async (write) => {
      writes += 1;
      await new Promise<void>((resolve) => held.push(resolve));
      return write();
    }),
  );
  const flushes: Promise<void>[] = [];
  for (let count = 1; count <= 20; count += 1) {
    use(id, count);
    flushes.push(recorder.flush());
    await until(() => held.length > 0, 'the first flush');
  }
  t.is(new Set(flushes).size, 2);
  const release = setInterval(() => {
    for (const resume of held.splice(0)) resume();
  }, 1);
  t.teardown(() => clearInterval(release));
  await recorder.close();
  t.true(writes <= 4, `${writes} writes`); // two flushes, each with the counts and the last uses
  t.like((await store.usage.ofDay(0))[0], { requests: 20 });
});

test('Usage - a failed last write does not prevent a shutdown', async (t) => {
  const { recorder, use, lines } = recorderOn(unavailable(t.context.store).failing);
  use(t.context.id);
  await recorder.close();
  t.deepEqual(lines, ['the last usage is not stored']);
});

for (const [name, aheadMs] of Object.entries({ ahead: 86_400_000, behind: -86_400_000 })) {
  test(`Usage - a server that started with its clock a day ${name} counts on when it is right`, async (t) => {
    const { store, id } = t.context;
    const rightMs = 10 * 86_400_000;
    for (const clockMs of [rightMs, rightMs + aheadMs, rightMs + aheadMs]) {
      const { limiter, recorder, use } = recorderOn(store);
      await restoreLimits(store, { ...limiter, now: () => clockMs });
      for (const nowMs of [clockMs, clockMs, rightMs]) use(id, nowMs);
      await recorder.close();
    }
    t.is((await store.usage.ofDay(10))[0]?.requests, 5);
  });
}

test('Usage retention - deletes the days before so many, and nothing of today', async (t) => {
  const { store, id: accountId } = t.context;
  const TODAY = 20_000;
  const days = [0, TODAY - 401, TODAY - 400, TODAY];
  await store.write((tx) => tx.usage.put(days.map((dayIndex) => ({ accountId, dayIndex, requests: 1, refused: 0 }))));
  t.is(await deleteOldUsage(store, 400)(250, dayStartMs(TODAY)), 2);
  t.is((await store.usage.ofAccount(accountId, 0)).length, 2);
});
