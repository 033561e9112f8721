/** Traces of the real service, as a collector receives them. */
import anyTest, { type TestFn } from 'ava';
import { AdminServiceService as Admin } from '../../../gen/petstore/admin/v1/admin.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import {
  CLIENT,
  type Collector,
  newTrace,
  PARENT,
  SERVER,
  type Span,
  spansOf,
  startCollector,
} from '../../support/collector.ts';
import { openEvents } from '../../support/event-source.ts';
import { GrpcCaller } from '../../support/grpc-caller.ts';
import { requestsTo } from '../../support/resources.ts';
import type { RestRequest } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { until } from '../../support/until.ts';

interface Context {
  readonly collector: Collector;
  readonly service: TestStack;
}

const test = anyTest as TestFn<Context>;

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

const CREATE = 'petstore.v1.CategoryService/CreateCategory';
const ORDER = 'petstore.v1.OrderService/PlaceOrder';
const LIST = 'petstore.v1.PetService/ListPets';

/** Whether each span is a child of the one before, and the first a child of the caller's. */
function below(spans: ReadonlyMap<string, Span>, ...names: readonly string[]): boolean {
  return names.every((name, index) => {
    const parent = index === 0 ? PARENT : spans.get(names[index - 1] ?? '')?.spanId;
    return spans.get(name)?.parentSpanId === parent;
  });
}

test('Traces - every operation has a span of its own, below the caller and Envoy', async (t) => {
  const { rest } = t.context.service;
  for (const { operation, method, path, json } of await requestsTo(rest)) {
    const { traceId, traceparent } = newTrace();
    const raw = json === undefined ? {} : { raw: JSON.stringify(json) };
    await rest.send(method, path, { ...raw, headers: { 'content-type': 'application/json', traceparent } });
    const name = operation.path.slice(1);
    t.true(below(await spansOf(t.context.collector, traceId, [method, name]), method, name), name);
  }
});

test('Traces - of REST: caller, Envoy, call, and below the call its transaction, statements and commit', async (t) => {
  const { rest } = t.context.service;
  const petId = await rest.pet({ stock: 5 });
  const { traceId, traceparent } = newTrace();
  const json = JSON.stringify({ petId, quantity: 2 });
  const headers = { 'content-type': 'application/json', traceparent };
  t.is((await rest.send('POST', '/store/orders', { raw: json, headers })).status, 201);
  const names = ['POST', ORDER, 'transaction', 'orders.insert', 'pets.lock', 'pets.update', 'commit'];
  const spans = await spansOf(t.context.collector, traceId, names);
  for (const statement of ['orders.insert', 'pets.lock', 'pets.update', 'commit']) {
    t.true(below(spans, 'POST', ORDER, 'transaction', statement), statement);
  }
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
  const native = newTrace();
  await grpc.call(Pets.listPets, { ids: [], pageToken: '' }, { metadata: { traceparent: native.traceparent } });
  grpc.close();
  const web = newTrace();
  const message = Pets.listPets.requestSerialize({ ids: [], pageToken: '' });
  const raw = Buffer.concat([Buffer.of(0, 0, 0, 0, message.length), message]);
  const headers = { 'content-type': 'application/grpc-web+proto', traceparent: web.traceparent };
  await rest.send('POST', Pets.listPets.path, { raw, headers });
  for (const { traceId } of [native, web]) {
    const spans = await spansOf(t.context.collector, traceId, ['POST', LIST, 'pets.page']);
    t.true(below(spans, 'POST', LIST, 'pets.page'));
  }
});

test('Traces - of gRPC at the private port: the caller is the parent, and its flag decides', async (t) => {
  const { grpcAddress, key } = t.context.service;
  const grpc = new GrpcCaller(grpcAddress, key);
  const [unrecorded, recorded] = [newTrace('00'), newTrace('01')];
  for (const { traceparent } of [unrecorded, recorded]) {
    await grpc.call(
      Pets.listPets,
      { ids: [], pageToken: '' },
      { metadata: { traceparent, tracestate: 'a=of-a-caller' } },
    );
  }
  grpc.close();
  t.true(below(await spansOf(t.context.collector, recorded.traceId, [LIST, 'pets.page']), LIST, 'pets.page'));
  t.false(t.context.collector.spans.some(({ traceId }) => traceId === unrecorded.traceId));
  t.false(t.context.collector.received.includes('a=of-a-caller'));
});

test('Traces - every table has spans, also the one of bans', async (t) => {
  const grpc = new GrpcCaller(t.context.service.grpcAddress, OPERATOR_KEY);
  const { traceId, traceparent } = newTrace();
  await grpc.call(Admin.listBans, { accountId: undefined, pageToken: '' }, { metadata: { traceparent } });
  grpc.close();
  const list = 'petstore.admin.v1.AdminService/ListBans';
  t.true(below(await spansOf(t.context.collector, traceId, [list, 'bans.page']), list, 'bans.page'));
});

test('Traces - calls that Envoy itself makes for a request are in its trace', async (t) => {
  const { rest } = t.context.service;
  const { traceId, traceparent } = newTrace();
  await rest.get('/nowhere', { headers: { traceparent } });
  const refuse = 'petstore.edge.v1.EdgeService/Refuse';
  const spans = await spansOf(t.context.collector, traceId, ['GET', refuse]);
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
  t.is(spans.get('GET')?.spanId, parentSpanId);
  t.is(spans.get('GET')?.parentSpanId, '');
});

test('Traces - a read that shares its statement with others is in its own trace', async (t) => {
  const { rest } = t.context.service;
  const id = await rest.category();
  const traces = Array.from({ length: 10 }, () => newTrace());
  await Promise.all(traces.map(({ traceparent }) => rest.get(`/categories/${id}`, { headers: { traceparent } })));
  const call = 'petstore.v1.CategoryService/GetCategory';
  for (const { traceId } of traces) {
    const spans = await spansOf(t.context.collector, traceId, ['GET', call, 'categories.find']);
    t.true(below(spans, 'GET', call, 'categories.find'));
    t.is(t.context.collector.spans.filter((span) => span.traceId === traceId).length, 3);
  }
});

test('Traces - writes that share a commit each have it in their own trace', async (t) => {
  const { rest } = t.context.service;
  const petId = await rest.pet({ stock: 100 });
  const traces = Array.from({ length: 10 }, () => newTrace());
  const raw = JSON.stringify({ petId });
  const send = ({ traceparent }: { traceparent: string }): RestRequest => ({
    raw,
    headers: { 'content-type': 'application/json', traceparent },
  });
  await Promise.all(traces.map((trace) => rest.send('POST', '/store/orders', send(trace))));
  for (const { traceId } of traces) {
    const spans = await spansOf(t.context.collector, traceId, ['POST', ORDER, 'transaction', 'commit', 'pets.update']);
    for (const name of ['commit', 'pets.update']) t.true(below(spans, 'POST', ORDER, 'transaction', name), name);
    t.is(t.context.collector.spans.filter((span) => span.traceId === traceId && span.name === 'commit').length, 1);
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
  const raw = JSON.stringify({ name: secret });
  await rest.send('POST', '/categories', { raw, headers: { ...headers, 'content-type': 'application/json' } });
  await rest.get(`/pets/${key}?key=${key}&q=${secret}`, { headers: { 'user-agent': secret } });
  await rest.get(`/${secret}/${key}`);
  await spansOf(t.context.collector, traceId, ['POST', CREATE]);
  const last = newTrace();
  await rest.get('/pets', { headers: { traceparent: last.traceparent } });
  await spansOf(t.context.collector, last.traceId, ['GET', LIST]);
  const { received } = t.context.collector;
  t.false(received.includes(secret));
  t.false(received.includes(key.slice(4, 20)));
});

test('Traces - a stream of events has one span of the server, which is sent when the stream begins', async (t) => {
  const { rest, key } = t.context.service;
  await rest.category(); // the server knows the key from now on
  const { traceId, traceparent } = newTrace();
  const stream = await openEvents(`${rest.url}/events/stream?after=0`, key, { traceparent });
  const call = 'petstore.v1.EventService/WatchEvents';
  const isOfServer = (span: Span) => span.traceId === traceId && span.service === 'petstore';
  const isOfCall = (span: Span) => isOfServer(span) && span.name === call;
  await until(() => t.context.collector.spans.find(isOfCall), 'the span of the server');
  await rest.category();
  await stream.take(1);
  stream.close();
  const spans = await spansOf(t.context.collector, traceId, ['GET', call]);
  t.like(spans.get(call), { parentSpanId: spans.get('GET')?.spanId, status: 0 });
  t.is(spans.get(call)?.attributes['rpc.grpc.status_code'], 0);
  const names = t.context.collector.spans.filter(isOfServer).map(({ name }) => name);
  t.deepEqual(
    names.filter((name) => !name.includes('EdgeService')),
    [call],
  );
});
