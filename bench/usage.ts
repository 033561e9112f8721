/**
 * `npm run bench:usage`: how long a write waits for the usage of 5,000 active accounts to be stored, on each engine.
 *
 * Writes are made one after the other, at first alone, then while the usage of all accounts is stored, 20 times. The wait
 * is what a write takes longer than the median of those alone.
 */
import pino from 'pino';
import type { ManagedLimiter } from '../src/limits/limiter.ts';
import { createUsageRecorder, type UsageRecorder } from '../src/limits/usage-recorder.ts';
import { dayIndexAt } from '../src/limits/windows.ts';
import { openPostgres } from '../src/storage/postgres.ts';
import { createStore, type Store } from '../src/storage/store.ts';
import { createTestStore } from '../test/support/database.ts';
import { startPostgres } from '../test/support/postgres.ts';

const ACCOUNTS = 5_000;
const ALONE_MS = 2_000;
const FLUSHES = 20;

/** A limiter in which every account has been active since the last time it was asked. */
function busyLimiter(accountIds: readonly bigint[]): ManagedLimiter {
  let requests = 0;
  const dayIndex = dayIndexAt(Date.now());
  const drainUsage = () => {
    requests += 1;
    return accountIds.map((id) => ({ subject: String(id), dayIndex, requests, refused: 0 }));
  };
  return { drainUsage, drainKeyUses: () => [] } as unknown as ManagedLimiter; // of which the recorder uses no more
}

/** Makes writes, one after the other, until `isDone`, and resolves with how long each took. */
async function write(store: Store, isDone: () => boolean): Promise<number[]> {
  const times: number[] = [];
  do {
    const startMs = performance.now();
    await store.write((tx) => tx.categories.insert({ name: 'Cats', description: undefined }));
    times.push(performance.now() - startMs);
  } while (!isDone());
  return times;
}

/** How long storing the usage once takes, and the longest write meanwhile. */
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
  const account = { name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 } as const;
  const ids = await store.transaction(async (tx) => {
    const inserted: bigint[] = [];
    for (let count = 0; count < ACCOUNTS; count += 1) inserted.push((await tx.accounts.insert(account)).id);
    return inserted;
  });
  const recorder = createUsageRecorder(store, pino({ level: 'silent' }));
  recorder.start(busyLimiter(ids));
  await recorder.close(); // it stores no more by itself, and the rows are there
  const untilMs = performance.now() + ALONE_MS;
  const aloneMs = median(await write(store, () => performance.now() > untilMs));
  const flushes: Awaited<ReturnType<typeof flushOnce>>[] = [];
  for (let count = 0; count < FLUSHES; count += 1) flushes.push(await flushOnce(store, recorder));
  const waits = flushes.map(({ longestMs }) => longestMs - aloneMs);
  const figures = {
    'a write alone': aloneMs,
    'the usage is stored in': median(flushes.map(({ storedMs }) => storedMs)),
    'the write that waits longest waits': median(waits),
    'at the very most': Math.max(...waits),
  };
  const text = Object.entries(figures).map(([what, ms]) => `${what} ${ms.toFixed(1)} ms`);
  process.stdout.write(`${name}: ${text.join(', ')}\n`);
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const sqlite = await createTestStore();
await measure('SQLite', sqlite);
await sqlite.close();

const server = await startPostgres();
const postgres = createStore(await openPostgres(await server.createDatabase()));
await measure('PostgreSQL', postgres);
await postgres.close();
await server.stop();
