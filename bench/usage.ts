/** `npm run bench:usage`: how long a write waits while the usage of many accounts is stored. */
import pino from 'pino';
import {
  createUsageRecorder,
  type UsageRecorder,
  type UsageSource,
} from '../src/platform/access/limits/usage-recorder.ts';
import { dayIndexAt } from '../src/platform/access/limits/windows.ts';
import { toAccountId } from '../src/platform/rpc/caller.ts';
import { openPostgres } from '../src/platform/storage/postgres.ts';
import { createStore } from '../src/platform/storage/store.ts';
import { MIGRATIONS, type Store, TABLES } from '../src/schema.ts';
import { createCommand, run } from '../test/support/command-line.ts';
import { createTestStore } from '../test/support/machine/database.ts';
import { startPostgres } from '../test/support/machine/postgres.ts';
import { median } from '../test/support/numbers.ts';

const ACCOUNTS = 5_000;
const ALONE_MS = 2_000;
const FLUSHES = 20;

const command = createCommand(
  'bench:usage',
  `Prints how long a write waits while the usage of ${ACCOUNTS} active accounts is stored, on SQLite and on
PostgreSQL. Writes are made one after the other, first alone, then while all usage is stored, ${FLUSHES} times. The
wait is how much longer a write takes than the median of the first ones.`,
);

/** A limiter in which every account has been active since the last drain. */
function busyLimiter(accountIds: readonly bigint[]): UsageSource {
  let requests = 0;
  const dayIndex = dayIndexAt(Date.now());
  const drain = () => {
    requests += 1;
    const usage = accountIds.map((id) => ({ accountId: toAccountId(id), dayIndex, requests, refused: 0 }));
    return { usage, keyUses: [] };
  };
  return { drain };
}

/** Writes, one row after the other, until `isDone`. Resolves with the duration of each write. */
async function write(store: Store, isDone: () => boolean): Promise<number[]> {
  const times: number[] = [];
  do {
    const startMs = performance.now();
    await store.write((tx) => tx.categories.insert({ name: 'Cats', description: undefined }));
    times.push(performance.now() - startMs);
  } while (!isDone());
  return times;
}

/** Stores the usage once. Resolves with how long that took, and the longest write meanwhile. */
async function flushOnce(store: Store, recorder: UsageRecorder): Promise<{ storedMs: number; longestMs: number }> {
  const startMs = performance.now();
  let storedMs: number | undefined;
  const flushed = recorder.flush().then(() => {
    storedMs = performance.now() - startMs;
  });
  const times = await write(store, () => storedMs !== undefined);
  await flushed;
  return { storedMs: storedMs ?? Number.NaN, longestMs: Math.max(...times) };
}

async function measure(name: string, store: Store): Promise<void> {
  const account = { name: 'Shop', plan: 'free', agreed: undefined, isSuspended: false, createdAtMs: 0 } as const;
  const ids = await store.transaction(async (tx) => {
    const inserted: bigint[] = [];
    for (let count = 0; count < ACCOUNTS; count += 1) inserted.push((await tx.accounts.insert(account)).id);
    return inserted;
  });
  const recorder = createUsageRecorder(store, busyLimiter(ids), pino({ level: 'silent' }));
  await recorder.close(); // stops its timer; the first flush inserts the rows
  const untilMs = performance.now() + ALONE_MS;
  const aloneMs = median(await write(store, () => performance.now() > untilMs));
  const flushes: Awaited<ReturnType<typeof flushOnce>>[] = [];
  for (let count = 0; count < FLUSHES; count += 1) flushes.push(await flushOnce(store, recorder));
  const waits = flushes.map(({ longestMs }) => longestMs - aloneMs);
  const figures = {
    'a write alone': aloneMs,
    'storing the usage': median(flushes.map(({ storedMs }) => storedMs)),
    'longest wait of a write, median': median(waits),
    'longest wait of a write, maximum': Math.max(...waits),
  };
  const text = Object.entries(figures).map(([what, ms]) => `${what} ${ms.toFixed(1)} ms`);
  process.stdout.write(`${name}: ${text.join(', ')}\n`);
}

async function main(): Promise<void> {
  await using cleanUp = new AsyncDisposableStack();
  const sqlite = await createTestStore();
  cleanUp.defer(() => sqlite.close());
  await measure('SQLite', sqlite);
  const server = await startPostgres();
  cleanUp.defer(() => server.stop());
  const postgres = createStore(await openPostgres(await server.createDatabase(), MIGRATIONS), TABLES);
  cleanUp.defer(() => postgres.close());
  await measure('PostgreSQL', postgres);
}

await run(command, main);
