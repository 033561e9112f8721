/**
 * The feed of events on three servers with PostgreSQL, while a server stands still between taking an event's id and
 * committing it. A lock holds the write there: the record of its idempotency key is stored last. One that ends there,
 * and backups, are in events/settled.test.ts.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { createClient } from '../../src/client/index.ts';
import { SERVER_TIMEOUTS } from '../../src/storage/postgres-connection.ts';
import { connectPostgres, postgresMissing, query, type TestPostgres } from '../support/postgres.ts';
import { createDataDir, type ServerProcess, startServerProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';
import { until } from '../support/until.ts';

/** PostgreSQL ends the transaction of a server that does not go on. */
const BOUND_MS = SERVER_TIMEOUTS.idle_in_transaction_session_timeout;
/** The machine may be busy with other tests. */
const ALLOWANCE_MS = 3_000;
/** Long enough to see that nothing comes. */
const NOTHING_MS = 500;

interface Context {
  readonly postgres: TestPostgres;
  readonly folder: Awaited<ReturnType<typeof createDataDir>>;
  readonly url: string;
  readonly servers: [ServerProcess, ServerProcess, ServerProcess];
  readonly follower: Follower;
}
const test = testUnless<Context>(postgresMissing);

test.before(async (t) => {
  const [postgres, folder] = [await connectPostgres(), await createDataDir()];
  const url = await postgres.createDatabase();
  const start = () => startServerProcess(folder.path, { DATABASE_URL: url });
  t.context = { ...t.context, postgres, folder, url, servers: [await start(), await start(), await start()] };
});
test.beforeEach(async (t) => {
  t.context = { ...t.context, follower: await follow(t.context.servers[2]) };
});
test.afterEach.always(async ({ context: { servers, follower } }) => {
  servers?.[0].process.kill('SIGCONT'); // a failed test may have left it standing still
  await follower?.end();
});
test.after.always(async ({ context: { servers = [], folder, postgres } }) => {
  for (const server of servers) if (!server.hasEnded) await server.end('SIGKILL');
  await folder?.remove();
  await postgres?.stop();
});

interface Follower {
  /** The names of the categories that were created, in the order of their events. */
  readonly names: readonly (string | undefined)[];
  readonly end: () => Promise<void>;
}

/** Follows the feed from now on. */
async function follow({ address, key }: ServerProcess): Promise<Follower> {
  const client = createClient({ address, apiKey: key });
  const [begun, over] = [Promise.withResolvers<void>(), new AbortController()];
  const names: (string | undefined)[] = [];
  const following = (async () => {
    const options = { signal: over.signal, onCheckpoint: () => begun.resolve() };
    for await (const { category } of client.events(options)) names.push(category?.name);
  })().catch((error: unknown) => {
    if (!over.signal.aborted) begun.reject(error);
  });
  await begun.promise;
  return {
    names,
    async end() {
      over.abort();
      await following;
      await client.close();
    },
  };
}

/** Begins a write that has taken its event's id and can't commit. */
async function holdWrite({ grpc }: ServerProcess, url: string, name: string) {
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE idempotency_records IN SHARE MODE');
  const outcome = grpc
    .exchange(Categories.createCategory, { category: { name } }, { metadata: { 'idempotency-key': randomUUID() } })
    .then(
      () => 'done',
      () => 'failed',
    );
  // A server that has just started also deletes old records.
  const waiting =
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~* '^insert.*idempotency_records'";
  await until(async () => (await query(url, waiting)).length > 0, 'the held write');
  return { outcome, release: () => holder.end() };
}

/** Begins a write on the first server, which then stands still with it, and writes "after" on the second. */
async function standStill({ servers: [first, second], url }: Context) {
  const { outcome, release } = await holdWrite(first, url, 'late');
  first.process.kill('SIGSTOP');
  await release();
  await second.grpc.category('after');
  return { outcome, goOn: () => first.process.kill('SIGCONT') };
}

/** Resolves with the time that it took until the follower had as many events. */
async function untilSeen({ names }: Follower, count: number): Promise<number> {
  const startMs = performance.now();
  await until(() => names.length >= count, `event ${count}`);
  return performance.now() - startMs;
}

test.serial('Gap - a server that stands still there delays the feed for a bounded time, and goes on', async (t) => {
  const { servers, url, follower } = t.context;
  const { outcome, goOn } = await standStill(t.context);
  const tookMs = await untilSeen(follower, 1);
  t.log({ tookMs });
  t.true(tookMs > NOTHING_MS && tookMs < BOUND_MS + ALLOWANCE_MS, `${tookMs} ms`);
  goOn();
  const isDone = (await outcome) === 'done';
  await servers[0].grpc.category('at last');
  await untilSeen(follower, isDone ? 3 : 2);
  t.deepEqual(follower.names, isDone ? ['after', 'late', 'at last'] : ['after', 'at last']);
  t.deepEqual(await stored(url, follower.names.length), follower.names);
});

test.serial('Gap - what a server commits that stood still there comes before what is newer', async (t) => {
  const { follower } = t.context;
  const { outcome, goOn } = await standStill(t.context);
  await delay(NOTHING_MS);
  t.deepEqual(follower.names, []);
  goOn();
  t.true((await untilSeen(follower, 2)) < ALLOWANCE_MS);
  t.deepEqual(follower.names, ['late', 'after']);
  t.is(await outcome, 'done');
});

/** The names of the last categories, in the order of their events. */
async function stored(url: string, count: number): Promise<unknown[]> {
  const names = `SELECT c.name FROM events e JOIN categories c ON c.id = (e.resource::json ->> 'id')::bigint
    WHERE e.type = 'category.created' ORDER BY e.id DESC LIMIT ${count}`;
  return (await query(url, names)).map(({ name }) => name).reverse();
}
