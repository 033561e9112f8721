/** The whole service, three servers behind Envoy, while one of them is frozen. */
import { Client } from 'pg';
import { startLoad, untilMore } from '../support/load.ts';
import { query } from '../support/postgres.ts';
import { testUnless } from '../support/programs.ts';
import { type Shared, sharedMissing, startShared } from '../support/shared.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

interface Context {
  readonly shared: Shared;
  readonly url: string;
  readonly service: TestStack;
}
const test = testUnless<Context>(sharedMissing);

test.beforeEach(async (t) => {
  const shared = await startShared();
  const settings = await shared.settings();
  const service = await startTestStack({ ...settings, INSTANCES: '3' });
  t.context = { shared, url: settings.DATABASE_URL ?? '', service };
});
test.afterEach.always(async (t) => {
  await t.context.service?.close();
  await t.context.shared?.close();
});

/** The longest time of a read whose first server is frozen: 2 s, and an allowance for a busy machine. */
const READ_MS = 2_000 + 2_000;

test.serial('Frozen server - other servers answer reads, no write runs twice, and it is replaced', async (t) => {
  const { service, url } = t.context;
  const { rest, stack } = service;
  const id = await rest.category();
  const frozen = stack.servers[1];
  let slowestReadMs = 0;
  const reads = startLoad(20, async () => {
    const startMs = performance.now();
    const { status } = await rest.get(`/categories/${id}`);
    slowestReadMs = Math.max(slowestReadMs, performance.now() - startMs);
    return String(status);
  });
  const created: string[] = [];
  const writes = startLoad(4, async (count) => {
    const { status } = await rest.post('/categories', { name: `Kind ${count}` });
    if (status === 201) created.push(`Kind ${count}`);
    return String(status);
  });
  await untilMore(reads, 500);
  frozen?.process.kill('SIGSTOP');
  await until(() => stack.servers[1] !== frozen && stack.servers[1]?.isRunning, 'the replacement');
  await untilMore(reads, 500);
  await untilMore(writes, 100);
  await Promise.all([reads.stop(), writes.stop()]);
  t.log({ reads: [...reads.answers], writes: [...writes.answers], slowestReadMs });
  t.deepEqual([...reads.answers.keys()], ['200'], JSON.stringify([...reads.answers]));
  t.true(slowestReadMs < READ_MS, `${slowestReadMs} ms`);
  for (const status of writes.answers.keys()) t.regex(status, /^(201|503)$/);
  t.true((writes.answers.get('503') ?? 0) <= 4, 'each writer has one open request');

  const rows = await query(url, "SELECT name FROM categories WHERE name LIKE 'Kind %'");
  const names = rows.map(({ name }) => String(name));
  t.is(new Set(names).size, names.length, 'no category exists twice');
  t.deepEqual(
    created.filter((name) => !names.includes(name)),
    [],
  );
});

test.serial('Slow response - a read that waits 3 s for a lock succeeds', async (t) => {
  const { service, url } = t.context;
  const id = await service.rest.category();
  await service.rest.get(`/categories/${id}`);
  const other = new Client({ connectionString: url });
  await other.connect();
  await other.query('BEGIN; LOCK TABLE categories IN ACCESS EXCLUSIVE MODE');
  const startMs = performance.now();
  const reading = service.rest.get(`/categories/${id}`);
  await other.query('SELECT pg_sleep(3); COMMIT');
  t.is((await reading).status, 200);
  t.true(performance.now() - startMs > 2_900);
  await other.end();
});
