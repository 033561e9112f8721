/** What the client repeats, with which metadata, on which connections, and how it stays within the limits. */
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { status as Status } from '@grpc/grpc-js';
import { createClient, type PetstoreClient, type PetstoreError } from '../../gen/client/index.ts';
import { listen } from '../support/machine/ports.ts';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import type { Scope } from '../support/scope.ts';
import { withinOneMinute } from '../support/service/limit-windows.ts';
import { type SharedBy, sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';

const test = sharing(undefined, async (t) => {
  const stack = await startTestStack(t);
  const proxy = await openProxy(t, stack.config.grpcPort);
  /** Calls through the proxy. */
  const client = createClient({ address: `127.0.0.1:${proxy.port}`, apiKey: stack.key });
  const direct = createClient({ address: stack.grpcAddress, apiKey: stack.key });
  t.teardown(() => Promise.all([client.close(), direct.close()]));
  await client.pets.listPets({}); // connects
  return { ...stack, proxy, client, direct };
});
type Context = SharedBy<typeof test>;

/** Breaks the connection when the call has been done, before its response arrives. */
async function broken<Answer>({ proxy, direct }: Context, name: string, call: () => Promise<Answer>): Promise<Answer> {
  const names = async () => (await direct.categories.listCategories({ limit: 100 })).categories.map((one) => one.name);
  proxy.dropResponses();
  const answer = call();
  answer.catch(() => undefined); // awaited below
  await until(async () => (await names()).includes(name), `the category ${name}`);
  proxy.cut();
  proxy.restore();
  return answer.finally(async () => {
    if ((await names()).filter((one) => one === name).length !== 1) throw new Error(`${name} was done twice`);
  });
}

test.serial('retries - a change that can be repeated, and a create, survive a broken connection', async (t) => {
  const { client, direct } = t.context;
  const { categories } = client;
  const { id: categoryId } = await categories.createCategory({ category: { name: 'before' } });
  const replace = () => categories.replaceCategory({ categoryId, category: { name: 'replaced' } });
  t.is((await broken(t.context, 'replaced', replace)).name, 'replaced');
  const create = () => categories.createCategory({ category: { name: 'only once' } });
  const { id } = await broken(t.context, 'only once', create);
  t.is((await direct.categories.getCategory({ categoryId: id })).name, 'only once');
});

test.serial('retries - an update is not retried after a broken connection: it may have been done', async (t) => {
  const { categories } = t.context.client;
  const { id: categoryId } = await categories.createCategory({ category: { name: 'to be updated' } });
  const update = () => categories.updateCategory({ categoryId, category: { name: 'updated' } });
  await t.throwsAsync(broken(t.context, 'updated', update), { name: 'PetstoreError', code: 'UNAVAILABLE' });
});

/** The metadata of each attempt that the client makes at a call that always gets this status. */
async function attempts(
  t: Scope,
  call: (client: PetstoreClient) => Promise<unknown>,
  options: object = {},
  status = Status.UNAVAILABLE,
  pushback = {},
) {
  const requests: IncomingHttpHeaders[] = [];
  const server = createServer().on('stream', (stream: ServerHttp2Stream, headers) => {
    requests.push(headers);
    const trailers = { 'content-type': 'application/grpc', 'grpc-status': String(status), ...pushback };
    stream.respond(trailers, { endStream: true });
  });
  const client = createClient({ address: await listen(t, server), apiKey: 'key', timeoutMs: 60_000, ...options });
  const code = await call(client).catch((error: PetstoreError) => error.code);
  await client.close();
  if (code !== Status[status]) throw new Error(`the call ended with ${code}`);
  const [keys, tags] = ['idempotency-key', 'if-match'].map((name) => [...new Set(requests.map((one) => one[name]))]);
  return { count: requests.length, keys, tags };
}

const category = { name: 'Cats' };

test('retries - while the server is unavailable a call that may be repeated has 5 attempts, others one', async (t) => {
  const get = ({ categories }: PetstoreClient) => categories.getCategory({ categoryId: 1n });
  const [read, late, wrong, never, once, replaced, updated, own] = await Promise.all([
    attempts(t, get),
    attempts(t, get, {}, Status.DEADLINE_EXCEEDED),
    attempts(t, get, {}, Status.INTERNAL),
    attempts(t, get, {}, Status.RESOURCE_EXHAUSTED, { 'grpc-retry-pushback-ms': '-1' }), // the server says: no retry
    attempts(t, get, { maxAttempts: 1 }),
    attempts(t, ({ categories }) => categories.replaceCategory({ categoryId: 1n, category }, { ifMatch: '"abc"' })),
    attempts(t, ({ categories }) => categories.updateCategory({ categoryId: 1n, category })),
    attempts(t, ({ categories }) => categories.createCategory({ category }, { idempotencyKey: 'mine' })),
  ]);
  const none = [undefined];
  t.deepEqual(read, { count: 5, keys: none, tags: none });
  t.deepEqual(late, read);
  t.deepEqual(once, { ...read, count: 1 });
  for (const other of [wrong, never]) t.deepEqual(other, once);
  t.deepEqual(replaced, { ...read, tags: ['"abc"'] });
  t.deepEqual(updated, once);
  t.deepEqual(own, { ...read, keys: ['mine'] });
});

test('handshake - a connection on which the server says nothing is replaced, and calls go on', async (t) => {
  t.timeout(60_000);
  const proxy = await openProxy(t, t.context.config.grpcPort);
  proxy.silence();
  const client = createClient({ address: `127.0.0.1:${proxy.port}`, apiKey: t.context.key });
  const call = client.pets.listPets({}, { timeoutMs: 50_000 });
  await until(() => proxy.accepted > 1, 'a second connection', 50_000);
  proxy.restore();
  t.deepEqual((await call).pets, []);
  await client.close();
});

const MINUTE_MS = 60_000;
const LIMITS = { perMinute: 5, perDay: 1_000 };
/** The number of refusals within a minute that ban a key, by the contract. */
const BAN = 20;

test('limits - a client past its minute limit waits for Retry-After and finishes without a ban', async (t) => {
  t.timeout(3 * MINUTE_MS);
  const { operator, publicAddress: address } = t.context;
  const { id } = await operator.account(LIMITS);
  const client = createClient({ address, apiKey: (await operator.key(id)).key, timeoutMs: 2.5 * MINUTE_MS });
  await withinOneMinute(10_000);
  const nextMinuteMs = (Math.floor(Date.now() / MINUTE_MS) + 1) * MINUTE_MS;
  await Promise.all(Array.from({ length: 2 * LIMITS.perMinute }, () => client.pets.listPets({})));
  t.true(Date.now() >= nextMinuteMs, 'the second five pass only in the next minute');
  t.true(Date.now() < nextMinuteMs + 10_000, 'they were sent when the minute began');
  const days = await operator.usage(id); // two days around midnight
  const sum = (field: 'requests' | 'refused') => days.reduce((total, day) => total + Number(day[field]), 0);
  t.is(sum('requests'), 10);
  t.true(sum('refused') >= 1 && sum('refused') < BAN / 2, `${sum('refused')} refusals`);
  await client.close();
});
