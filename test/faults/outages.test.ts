/** The whole service, three servers behind Envoy, while PostgreSQL is killed or waits, or a server is frozen. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Plan } from '../../gen/apiplatform/admin/v1/admin.ts';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { type Load, startLoad, untilMore } from '../support/calls/load.ts';
import { RestClient } from '../support/calls/rest-client.ts';
import { query } from '../support/machine/postgres.ts';
import { sharedMissing, startShared } from '../support/service/shared.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';
import { until, withinOneMinute } from '../support/until.ts';

const CALLERS = 30;
/** The recovery time after the return of the database. */
const RETURN_MS = 2_000;

const test = sharing(sharedMissing, async (t) => {
  const shared = await startShared(t);
  const settings = await shared.settings();
  const service = await startTestStack(t, { ...settings, INSTANCES: '3' });
  return { shared, url: settings.DATABASE_URL ?? '', service };
});

/** Reads and writes. The response is its status and error code. `created` are the ids of acknowledged categories. */
async function startCalls({ rest }: TestStack) {
  const petId = await rest.pet();
  const created: number[] = [];
  const load = startLoad(CALLERS, async (count) => {
    const isWrite = count % 4 === 0;
    const response = isWrite ? await rest.post('/categories', { name: 'Cats' }) : await rest.get(`/pets/${petId}`);
    if (response.status === 201) created.push(response.body.id);
    return response.status < 300 ? `${response.status}` : `${response.status} ${response.body.code}`;
  });
  return { ...load, created };
}

function count({ answers }: Load, ...wanted: string[]): number {
  return wanted.reduce((sum, response) => sum + (answers.get(response) ?? 0), 0);
}

const pidsOf = ({ stack }: TestStack) => stack.servers.map((server) => server.process.pid);

/** The messages of each server about the database. The last line of a log may be incomplete. */
function messagesOf({ config }: TestStack): Promise<string[][]> {
  const ofServer = async (server: number) => {
    const log = await readFile(join(config.dataDir, `logs/server-${server}.log`), 'utf8');
    return Array.from(log.matchAll(/"msg":"(the database is[^"]*)"/g), ([, message = '']) => message);
  };
  return Promise.all([1, 2, 3].map(ofServer));
}

test.serial('PostgreSQL killed - responses are 503, and 2xx within 2 s of its return; no write is lost', async (t) => {
  const { service, shared, url } = t.context;
  const pids = pidsOf(service);
  const calls = await startCalls(service);
  const tookMs: number[] = [];
  for (let round = 0; round < 2; round += 1) {
    const before = count(calls, '200', '201');
    await until(() => count(calls, '200', '201') > before + 200, 'responses');
    await shared.postgres.kill();
    const refused = count(calls, '503 UNAVAILABLE');
    await until(() => count(calls, '503 UNAVAILABLE') > refused + 200, 'refusals');
    await shared.postgres.start();
    const startMs = performance.now();
    await until(async () => (await service.rest.post('/categories', { name: 'Cats' })).status === 201, 'a success');
    tookMs.push(performance.now() - startMs);
    // A server tells it with the next call that it serves.
    const haveSaid = (all: string[][]) => all.every(({ length }) => length === 2 * (round + 1));
    await until(async () => haveSaid(await messagesOf(service)), 'the lines of all servers');
  }
  await calls.stop();
  t.true(Math.min(...tookMs) < RETURN_MS, `${tookMs} ms`); // the machine may stand still once
  t.deepEqual([...calls.answers.keys()].sort(), ['200', '201', '503 UNAVAILABLE']);
  t.deepEqual(pidsOf(service), pids);

  const rows = await query(url, 'SELECT id FROM categories');
  const stored = new Set(rows.map(({ id }) => Number(id)));
  const lost = calls.created.filter((id) => !stored.has(id));
  t.deepEqual(lost, []);

  const pair = ['the database is away: calls that need it fail', 'the database is back'];
  t.deepEqual(await messagesOf(service), Array(3).fill([...pair, ...pair]));
});

test.serial('Slow database - a read or a question that Envoy sends again counts once, and gets no 429', async (t) => {
  const { service, url } = t.context;
  const clientOf = (key: string) => new RestClient(`http://${service.publicAddress}`, key);
  const free = clientOf(await service.operator.keyOf(Plan.PLAN_FREE));
  const slowly = async (table: string, count: number, read: () => ReturnType<RestClient['get']>) => {
    const locked = query(url, `BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2.5); COMMIT`);
    const all = await Promise.all(Array.from({ length: count }, read));
    await locked;
    const left = Math.min(...all.map(({ headers }) => Number(headers.get('x-ratelimit-remaining'))));
    return { statuses: [...new Set(all.map(({ status }) => status))], left };
  };
  await withinOneMinute(10_000);
  t.is((await free.get('/pets')).status, 200); // Envoy and the server know the key
  t.deepEqual(await slowly('pets', 59, () => free.get('/pets')), { statuses: [200], left: 0 });
  const guesses = await slowly('api_keys', 5, () => clientOf(generateKey()).get('/pets'));
  t.deepEqual(guesses, { statuses: [401], left: service.config.addressPerMinute - 5 });
});

/** Less than until a frozen server is killed. A read takes 1.5 s then, or 3 s with the question about its key. */
const READ_MS = 4_000;

test.serial('Frozen server - other servers answer reads, no write runs twice, and it is replaced', async (t) => {
  const { service, url } = t.context;
  const { rest, stack } = service;
  const unused = await Promise.all(Array.from({ length: 12 }, () => service.operator.keyOf(Plan.PLAN_PRO)));
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
  const frozenMs = performance.now();
  const firsts = unused.map(async (key) => {
    const { status } = await new RestClient(`http://${service.publicAddress}`, key).get(`/categories/${id}`);
    return status === 200 && performance.now() - frozenMs < READ_MS;
  });
  const good = (await Promise.all(firsts)).filter(Boolean).length;
  await until(() => stack.servers[1] !== frozen && stack.servers[1]?.isRunning, 'the replacement');
  await untilMore(reads, 500);
  await untilMore(writes, 100);
  await Promise.all([reads.stop(), writes.stop()]);
  t.deepEqual([...reads.answers.keys()], ['200'], JSON.stringify([...reads.answers]));
  t.true(slowestReadMs < READ_MS, `${slowestReadMs} ms`);
  t.true(good >= 11, `Envoy asks about each key, perhaps only the frozen server about one: ${good}`);
  for (const status of writes.answers.keys()) t.regex(status, /^(201|503)$/);
  t.true((writes.answers.get('503') ?? 0) <= 4, 'each writer has one open request');

  const rows = await query(url, "SELECT name FROM categories WHERE name LIKE 'Kind %'");
  const names = rows.map(({ name }) => String(name));
  t.is(new Set(names).size, names.length, 'no category exists twice');
  const lost = created.filter((name) => !names.includes(name));
  t.deepEqual(lost, []);
});
