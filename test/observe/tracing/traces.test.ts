/** Traces of the real service, as a collector receives them. */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { AdminServiceService as Admin } from '../../../gen/petstore/admin/v1/admin.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { GrpcCaller } from '../../support/grpc-caller.ts';
import { requestsTo } from '../../support/resources.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { until } from '../../support/until.ts';
import {
  CLIENT,
  type Collector,
  newTrace,
  PARENT,
  SERVER,
  type Span,
  spansOf,
  startCollector,
} from './test-collector.ts';

interface Context {
  readonly collector: Collector;
  readonly service: TestStack;
}

const test = anyTest as TestFn<Context>;
type Test = ExecutionContext<Context>;

test.before(async (t) => {
  const collector = await startCollector();
  const service = await startTestStack({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OPERATOR_KEY });
  t.context = { collector, service };
});
test.after.always(async ({ context }) => {
  await context.service?.close();
  await context.collector?.close();
});

const OPERATOR_KEY = 'operator-key-of-this-test';

const ORDER = 'petstore.v1.OrderService/PlaceOrder';
const LIST = 'petstore.v1.PetService/ListPets';

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

test('Traces - every operation has a span of its own, below the caller and Envoy', async (t) => {
  const requests = await requestsTo(t.context.service.rest);
  await Promise.all(
    requests.map(async ({ operation, method, path, json }) =>
      has(t, await sent(t, method, path, json), method, operation.path.slice(1)),
    ),
  );
});

test('Traces - of REST: caller, Envoy, call, and below the call its transaction and statements', async (t) => {
  const petId = await t.context.service.rest.pet({ stock: 5 });
  const traceId = await sent(t, 'POST', '/store/orders', { petId, quantity: 2 });
  const statements = ['orders.insert', 'pets.lock', 'pets.update'];
  const spans = await spansOf(t.context.collector, traceId, ['POST', ORDER, 'transaction', ...statements]);
  for (const statement of statements) t.true(below(spans, 'POST', ORDER, 'transaction', statement), statement);
  t.like(spans.get('POST'), { service: 'petstore-edge', kind: SERVER });
  t.like(spans.get('POST')?.attributes, { 'http.status_code': '201', 'http.method': 'POST' });
  t.like(spans.get(ORDER), { service: 'petstore', kind: SERVER, status: 0 });
  t.like(spans.get(ORDER)?.attributes, {
    'rpc.system': 'grpc',
    'rpc.service': 'petstore.v1.OrderService',
    'rpc.method': 'PlaceOrder',
    'rpc.grpc.status_code': 0,
  });
  t.like(spans.get('pets.lock'), { kind: CLIENT });
  t.like(spans.get('pets.lock')?.attributes, {
    'db.system.name': 'sqlite',
    'db.collection.name': 'pets',
    'db.operation.name': 'lock',
  });
});

test('Traces - of gRPC through Envoy, and of gRPC-Web', async (t) => {
  const { publicAddress, key, rest } = t.context.service;
  const grpc = new GrpcCaller(publicAddress, key);
  const [native, web] = [newTrace(), newTrace()];
  await grpc.call(Pets.listPets, {}, { metadata: { traceparent: native.traceparent } });
  grpc.close();
  const headers = { 'content-type': 'application/grpc-web+proto', traceparent: web.traceparent };
  await rest.send('POST', Pets.listPets.path, { raw: Buffer.alloc(5), headers });
  for (const { traceId } of [native, web]) await has(t, traceId, 'POST', LIST, 'pets.page');
});

test('Traces - of gRPC at the private port: the caller is the parent, and its flag decides', async (t) => {
  const { grpcAddress, key } = t.context.service;
  const grpc = new GrpcCaller(grpcAddress, key);
  const [unrecorded, recorded] = [newTrace('00'), newTrace('01')];
  for (const { traceparent } of [unrecorded, recorded]) {
    await grpc.call(Pets.listPets, {}, { metadata: { traceparent, tracestate: 'a=of-a-caller' } });
  }
  grpc.close();
  await has(t, recorded.traceId, LIST, 'pets.page');
  t.deepEqual(spansIn(t, unrecorded.traceId), []);
  t.false(t.context.collector.received.includes('a=of-a-caller'));
});

test('Traces - every table has spans, also the one of bans', async (t) => {
  const grpc = new GrpcCaller(t.context.service.grpcAddress, OPERATOR_KEY);
  const { traceId, traceparent } = newTrace();
  await grpc.call(Admin.listBans, { pageToken: '' }, { metadata: { traceparent } });
  grpc.close();
  await has(t, traceId, 'petstore.admin.v1.AdminService/ListBans', 'bans.page');
});

test('Traces - calls that Envoy itself makes for a request are in its trace', async (t) => {
  const refuse = 'petstore.edge.v1.EdgeService/Refuse';
  const spans = await spansOf(t.context.collector, await sent(t, 'GET', '/nowhere'), ['GET', refuse]);
  const envoyCall = [...spans.values()].find(({ spanId }) => spanId === spans.get(refuse)?.parentSpanId);
  t.regex(envoyCall?.name ?? '', /^async petstore(_anonymous)? egress$/);
  t.is(envoyCall?.parentSpanId, spans.get('GET')?.spanId);
  t.is(spans.get(refuse)?.attributes['error.type'], 'ROUTE_NOT_FOUND');
});

test('Traces - a request without a traceparent begins a trace', async (t) => {
  const { collector, service } = t.context;
  await service.rest.get('/healthz');
  const isHealth = ({ name }: Span) => name === 'petstore.web.v1.WebService/CheckHealth';
  const { traceId, parentSpanId } = await until(() => collector.spans.find(isHealth), 'the call');
  const spans = await spansOf(collector, traceId, ['GET']);
  t.like(spans.get('GET'), { spanId: parentSpanId, parentSpanId: '' });
});

test('Traces - a read that shares its statement with others is in its own trace', async (t) => {
  const id = await t.context.service.rest.category();
  const traces = await Promise.all(Array.from({ length: 10 }, () => sent(t, 'GET', `/categories/${id}`)));
  for (const traceId of traces) {
    await has(t, traceId, 'GET', 'petstore.v1.CategoryService/GetCategory', 'categories.find');
    t.is(spansIn(t, traceId).length, 3);
  }
});

test('Traces - a write that shares its statement with others is in its own trace, also with a key', async (t) => {
  const create = async (headers = {}) => {
    const { traceId, traceparent } = newTrace();
    const json = { name: `traced ${traceId}` };
    await t.context.service.rest.send('POST', '/categories', { json, headers: { traceparent, ...headers } });
    return traceId;
  };
  const keys = Array.from({ length: 10 }, (_, index) => (index % 2 ? { 'idempotency-key': `traced-${index}` } : {}));
  for (const traceId of await Promise.all(keys.map(create))) {
    await has(t, traceId, 'POST', 'petstore.v1.CategoryService/CreateCategory', 'categories.insert');
  }
});

test('Traces - writes that share a commit each have their statements in their own trace', async (t) => {
  const petId = await t.context.service.rest.pet({ stock: 100 });
  const traces = await Promise.all(Array.from({ length: 10 }, () => sent(t, 'POST', '/store/orders', { petId })));
  for (const traceId of traces) {
    await has(t, traceId, 'POST', ORDER, 'transaction', 'pets.update');
    t.is(spansIn(t, traceId).filter(({ name }) => name === 'pets.update').length, 1);
  }
});

test('Traces - no key, path, user agent, body or other header is in a span', async (t) => {
  const { rest, key } = t.context.service;
  const secret = 'SECRET-of-a-caller';
  const { traceId, traceparent } = newTrace();
  const headers = {
    traceparent,
    tracestate: `a=${secret}`,
    'user-agent': `${secret} ${key}`,
    'x-mine': secret,
    'idempotency-key': secret,
  };
  await rest.send('POST', '/categories', { json: { name: secret }, headers });
  await rest.get(`/pets/${key}?key=${key}&q=${secret}`, { headers: { 'user-agent': secret } });
  await rest.get(`/${secret}/${key}`);
  await has(t, traceId, 'POST', 'petstore.v1.CategoryService/CreateCategory');
  await has(t, await sent(t, 'GET', '/pets'), 'GET', LIST);
  const { received } = t.context.collector;
  t.false(received.includes(secret));
  t.false(received.includes(key.slice(4, 20)));
});
