/** Traces of the real service, as a collector receives them. */
import { requestsTo } from '../../support/contract/resources.ts';
import { sharing, type TestOf } from '../../support/service/sharing.ts';
import { startTestStack } from '../../support/service/stack.ts';
import { CLIENT, newTrace, PARENT, SERVER, type Span, spansOf, startCollector } from './test-collector.ts';

const test = sharing(undefined, async (t) => {
  const collector = await startCollector(t);
  const service = await startTestStack(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  return { collector, service };
});
type Test = TestOf<typeof test>;

const ORDER = 'petstore.v1.OrderService/PlaceOrder';
const CREATE = 'petstore.v1.CategoryService/CreateCategory';

/** Sends a request in a trace of its own. Resolves with the trace's id. */
async function sent({ context }: Test, method: string, path: string, json?: object): Promise<string> {
  const { traceId, traceparent } = newTrace();
  await context.service.rest.send(method, path, { json, headers: { traceparent } });
  return traceId;
}

/** Whether each span is a child of the one before, and the first a child of the caller's. */
function below(spans: ReadonlyMap<string, Span>, ...names: readonly string[]): boolean {
  return names.every((name, index) => {
    const parent = index === 0 ? PARENT : spans.get(names[index - 1] ?? '')?.spanId;
    return spans.get(name)?.parentSpanId === parent;
  });
}

/** Waits for the spans, and checks that they are below each other. */
async function has(t: Test, traceId: string, ...names: readonly string[]): Promise<void> {
  t.true(below(await spansOf(t.context.collector, traceId, names), ...names), names.join(' '));
}

const spansIn = ({ context }: Test, traceId: string) =>
  context.collector.spans.filter((span) => span.traceId === traceId);

test('Traces - every operation has a span of its own, below the caller and Envoy; a feed has none', async (t) => {
  const feed = await sent(t, 'HEAD', '/events/stream');
  const requests = await requestsTo(t.context.service.rest);
  const traces = await Promise.all(requests.map(({ method, path, json }) => sent(t, method, path, json)));
  for (const [index, { method, operation }] of requests.entries())
    await has(t, traces[index] ?? '', method, operation.path.slice(1));
  t.false(spansIn(t, feed).some(({ name }) => name.startsWith('petstore.v1.')));
});

test('Traces - of REST: caller, Envoy, call, and below the call its transaction and statements', async (t) => {
  const petId = await t.context.service.rest.pet({ stock: 5 });
  const traceId = await sent(t, 'POST', '/store/orders', { petId, quantity: 2 });
  const statements = ['orders.insert', 'pets.lock', 'pets.update'];
  const spans = await spansOf(t.context.collector, traceId, ['POST', ORDER, 'transaction', ...statements]);
  for (const statement of statements) t.true(below(spans, 'POST', ORDER, 'transaction', statement), statement);
  const http = { 'http.status_code': '201', 'http.method': 'POST' };
  t.like(spans.get('POST'), { service: 'petstore-edge', kind: SERVER, attributes: http });
  const rpc = { 'rpc.system': 'grpc', 'rpc.service': 'petstore.v1.OrderService', 'rpc.method': 'PlaceOrder' };
  const attributes = { ...rpc, 'rpc.grpc.status_code': 0 };
  t.like(spans.get(ORDER), { service: 'petstore', kind: SERVER, status: 0, attributes });
  const db = { 'db.system.name': 'sqlite', 'db.collection.name': 'pets', 'db.operation.name': 'lock' };
  t.like(spans.get('pets.lock'), { kind: CLIENT, attributes: db });
});

test('Traces - calls that Envoy itself makes for a request are in its trace', async (t) => {
  const refuse = 'apiplatform.edge.v1.EdgeService/Refuse';
  const spans = await spansOf(t.context.collector, await sent(t, 'GET', '/nowhere'), ['GET', refuse]);
  const envoyCall = [...spans.values()].find(({ spanId }) => spanId === spans.get(refuse)?.parentSpanId);
  t.regex(envoyCall?.name ?? '', /^async petstore(_anonymous)? egress$/);
  t.is(envoyCall?.parentSpanId, spans.get('GET')?.spanId);
  t.is(spans.get(refuse)?.attributes['error.type'], 'ROUTE_NOT_FOUND');
});

test("Traces - a caller's mistake has its code, and is no failure of the service", async (t) => {
  const get = 'petstore.v1.PetService/GetPet';
  const spans = await spansOf(t.context.collector, await sent(t, 'GET', '/pets/999999'), [get]);
  t.deepEqual([spans.get(get)?.status, spans.get(get)?.attributes['error.type']], [0, 'PET_NOT_FOUND']);
});

/** Calls, of which several at the same time share a statement, an insert or a commit. */
const SHARING = [
  ['a read', 'GET', '/categories/1', undefined, ['petstore.v1.CategoryService/GetCategory', 'categories.find']],
  ['a write', 'POST', '/categories', { name: 'traced' }, [CREATE, 'categories.insert']],
  ['a transaction', 'POST', '/store/orders', {}, [ORDER, 'transaction', 'orders.insert']],
] as const;
for (const [what, method, path, json, names] of SHARING) {
  test(`Traces - ${what} that shares its work with others is in its own trace`, async (t) => {
    const traces = await Promise.all(Array.from({ length: 10 }, () => sent(t, method, path, json)));
    for (const traceId of traces) {
      await has(t, traceId, method, ...names);
      t.is(spansIn(t, traceId).filter(({ name }) => name === names.at(-1)).length, 1);
    }
  });
}

test('Traces - no key, path, user agent, body or other header is in a span', async (t) => {
  const { rest, key } = t.context.service;
  const secret = 'SECRET-of-a-caller';
  const { traceId, traceparent } = newTrace();
  const others = { 'user-agent': `${secret} ${key}`, 'x-mine': secret, 'idempotency-key': secret };
  const headers = { traceparent, tracestate: `a=${secret}`, ...others };
  await rest.send('POST', '/categories', { json: { name: secret }, headers });
  await rest.get(`/pets/${key}?key=${key}&q=${secret}`, { headers: { 'user-agent': secret } });
  await rest.get(`/${secret}/${key}`);
  await has(t, traceId, 'POST', CREATE);
  await has(t, await sent(t, 'GET', '/pets'), 'GET', 'petstore.v1.PetService/ListPets');
  const { received } = t.context.collector;
  t.false(received.includes(secret));
  t.false(received.includes(key.slice(4, 20)));
});
