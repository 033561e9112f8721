/**
 * What the client sends and returns, what it repeats, with which metadata, on which connections, and how it stays
 * within the limits.
 */
import { getEventListeners } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { status as Status } from '@grpc/grpc-js';
import { createClient, etagOf, type PetstoreClient, PetstoreError, pages } from '../../gen/client/index.ts';
import { REQUESTS } from '../../gen/client/methods.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { NewPet as NewPetMessage, PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import { listen, type Scope } from '../support/scope.ts';
import { type SharedBy, sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { until, withinOneMinute } from '../support/until.ts';

const test = sharing(undefined, async (t) => {
  const stack = await startTestStack(t);
  const proxy = await openProxy(t, stack.config.grpcPort);
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
  const [read, late, wrong, never, once, twice, replaced, updated, own] = await Promise.all([
    attempts(t, get),
    attempts(t, get, {}, Status.DEADLINE_EXCEEDED),
    attempts(t, get, {}, Status.INTERNAL),
    attempts(t, get, {}, Status.RESOURCE_EXHAUSTED, { 'grpc-retry-pushback-ms': '-1' }), // the server says: no retry
    attempts(t, get, { maxAttempts: 1 }),
    attempts(t, get, { maxAttempts: 2 }),
    attempts(t, ({ categories }) => categories.replaceCategory({ categoryId: 1n, category }, { ifMatch: '"abc"' })),
    attempts(t, ({ categories }) => categories.updateCategory({ categoryId: 1n, category })),
    attempts(t, ({ categories }) => categories.createCategory({ category }, { idempotencyKey: 'mine' })),
  ]);
  const none = [undefined];
  t.deepEqual(read, { count: 5, keys: none, tags: none });
  t.deepEqual(late, read);
  t.deepEqual(once, { ...read, count: 1 });
  t.deepEqual(twice, { ...read, count: 2 });
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

test('client - what is absent from a request has its default; types check the others', (t) => {
  const { pets } = t.context.client;
  const wrong = [
    // @ts-expect-error petId is missing
    () => pets.getPet({}),
    // @ts-expect-error an id is a bigint
    () => pets.getPet({ petId: 7 }),
    // @ts-expect-error there is no such field
    () => pets.listPets({ colour: 'red' }),
    // @ts-expect-error only a create takes a key
    () => pets.getPet({ petId: 7n }, { idempotencyKey: 'mine' }),
    // @ts-expect-error only a write takes a condition
    () => pets.getPet({ petId: 7n }, { ifMatch: '"abc"' }),
  ];
  t.is(wrong.length, 5);
  const methods = [Categories, Pets, Orders, Inventory].flatMap((service) => Object.values(service));
  for (const { path, requestDeserialize } of methods) {
    t.deepEqual(REQUESTS[path]?.fromPartial({} as never), requestDeserialize(Buffer.of()), path);
  }
  const given = { name: 'Tom', categoryId: 1n };
  const pet = { ...NewPetMessage.decode(Buffer.of()), ...given };
  t.deepEqual(REQUESTS[Pets.createPet.path]?.fromPartial({ pet: given } as never), { pet });
});

test('client - a value that its field can not have throws TypeError, a Date for a timestamp too', async (t) => {
  const { orders } = t.context.client;
  for (const shipDate of [new Date(), '2027-01-01T12:00:00Z', 1_798_804_800, [], new Map()]) {
    const placed = orders.placeOrder({ order: { shipDate } as never });
    await t.throwsAsync(placed, { instanceOf: TypeError, message: /order\.shipDate is no message with seconds,nanos/ });
  }
  await t.throwsAsync(orders.getOrder({ orderId: 7.5 as never }), { instanceOf: TypeError, message: /GetOrder: / });
  const { shipDate } = await orders.placeOrder({ order: { shipDate: { seconds: 1_798_804_800n, nanos: 0 } } });
  t.is(shipDate?.seconds, 1_798_804_800n);
});

test('client - the second of two conflicting writes gets PRECONDITION_FAILED', async (t) => {
  const { categories } = t.context.client;
  const { id: categoryId } = await categories.createCategory({ category: { name: 'Cats' } });
  const read = await categories.getCategory({ categoryId });
  const ifMatch = etagOf(read);
  const changed = await categories.updateCategory({ categoryId, category: { name: 'Big cats' } }, { ifMatch });
  const late = categories.replaceCategory({ categoryId, category: { name: 'Small cats' } }, { ifMatch });
  t.like(await t.throwsAsync(late, { instanceOf: PetstoreError }), { code: 'PRECONDITION_FAILED', grpcStatus: 10 });
  t.is((await categories.getCategory({ categoryId })).name, 'Big cats');
  t.deepEqual(Object.keys(changed).sort(), ['description', 'id', 'name'], 'the tag is not a field of the message');
  t.throws(() => etagOf({ ...changed }), { instanceOf: TypeError });
  t.deepEqual(await categories.deleteCategory({ categoryId }, { ifMatch: etagOf(changed) }), {});
});

test('client - an error has the reason, the status, the message and every invalid field', async (t) => {
  const { client, grpcAddress: address, key: apiKey } = t.context;
  const stranger = createClient({ address, apiKey: 'nonsense' });
  const hasty = createClient({ address, apiKey, timeoutMs: 0 });
  const message = 'pet 999999 does not exist';
  const none = { violations: [], retryAfterMs: undefined };
  const violations = [
    { field: 'pet.name', description: 'must be 1 to 200 characters after trimming' },
    { field: 'pet.categoryId', description: 'value is required' },
  ];
  const tooLarge = { name: 'x'.repeat(2_000_000), categoryId: 1n };
  const late = { code: 'DEADLINE_EXCEEDED', grpcStatus: 4, ...none };
  for (const [call, expected] of [
    [client.pets.getPet({ petId: 999_999n }), { code: 'PET_NOT_FOUND', grpcStatus: 5, message, ...none }],
    [client.pets.createPet({ pet: { name: ' ' } }), { code: 'INVALID_ARGUMENT', grpcStatus: 3, violations }],
    [stranger.pets.listPets({}), { code: 'API_KEY_INVALID', grpcStatus: 16, ...none }],
    [client.pets.createPet({ pet: tooLarge }), { grpcStatus: 8, ...none }],
    [client.pets.listPets({}, { timeoutMs: 0 }), late],
    [client.pets.listPets({}, { deadline: new Date(0) }), late],
    [hasty.pets.listPets({}), late],
  ] as const)
    t.like(await t.throwsAsync(call, { instanceOf: PetstoreError }), expected);
  t.true(Array.isArray((await hasty.pets.listPets({}, { timeoutMs: 5_000 })).pets));
  await Promise.all([stranger.close(), hasty.close()]);
});

test('client - a web page in place of a response is told as one', async (t) => {
  const page = { 'content-type': 'text/html' };
  const server = createServer((_, response) => response.writeHead(200, page).end('<!doctype html>'));
  const client = createClient({ address: await listen(t, server), apiKey: 'x' });
  t.teardown(() => client.close());
  const expected = { instanceOf: PetstoreError, code: 'UNKNOWN', message: /^the response is text\/html, not gRPC: / };
  await t.throwsAsync(client.pets.getPet({ petId: 1n }), expected);
});

test('client - a signal aborts a call with its reason before and during it, and does nothing after it', async (t) => {
  const { client } = t.context;
  const reason = new Error('changed my mind');
  t.is(await client.pets.listPets({}, { signal: AbortSignal.abort(reason) }).catch((error) => error), reason);
  const controller = new AbortController();
  const call = client.pets.listPets({}, { signal: controller.signal });
  controller.abort(reason);
  t.is(await call.catch((error) => error), reason);
  const late = new AbortController();
  await client.pets.listPets({}, { signal: late.signal });
  t.deepEqual(getEventListeners(late.signal, 'abort'), [], 'a call that is over has no listener');
  const passed: unknown[] = [];
  const list = async (_: object, options?: object) => ({ nextPageToken: passed.push(options) === 1 ? 'more' : '' });
  await Array.fromAsync(pages(list, {}, { signal: late.signal }));
  t.deepEqual(passed, Array(2).fill({ signal: late.signal }), 'of all pages');
});

test('client - invalid options are refused, and the error does not show the key', (t) => {
  const { key, grpcAddress: address } = t.context;
  const error = t.throws(() => createClient({ address, apiKey: `${key}\n` }), { instanceOf: TypeError });
  t.false(error?.message.includes(key));
  const empty = { instanceOf: TypeError, message: 'apiKey is empty: set it to your key' };
  t.throws(() => createClient({ address, apiKey: '' }), empty);
  const noAddress = { instanceOf: TypeError, message: 'address is empty: set it to that of the service' };
  t.throws(() => createClient({ address: '', apiKey: key }), noAddress);
  for (const wrong of [{ maxInFlight: 0 }, { maxInFlight: 1.5 }, { maxAttempts: 0 }, { maxAttempts: 6 }]) {
    t.throws(() => createClient({ address, apiKey: key, ...wrong }), { instanceOf: RangeError });
  }
});
