/** Traces of a service on PostgreSQL and Redis. */
import type { TestFn } from 'ava';
import { type Collector, newTrace, PARENT, spansOf, startCollector } from '../../support/collector.ts';
import { testUnless } from '../../support/programs.ts';
import { type Shared, sharedMissing, startShared } from '../../support/shared.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

interface Context {
  readonly shared: Shared;
  readonly collector: Collector;
  readonly service: TestStack;
}

const test: TestFn<Context> = testUnless<Context>(sharedMissing);

test.before(async (t) => {
  const shared = await startShared();
  const collector = await startCollector();
  const settings = { ...(await shared.settings()), OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  t.context = { shared, collector, service: await startTestStack(settings) };
});
test.after.always(async ({ context }) => {
  await context.service?.close();
  await context.collector?.close();
  await context.shared?.close();
});

test('Traces - the Redis call and the PostgreSQL transaction are children of the gRPC call', async (t) => {
  const { rest } = t.context.service;
  const petId = await rest.pet({ stock: 3 });
  const { traceId, traceparent } = newTrace();
  const headers = { 'content-type': 'application/json', traceparent };
  const raw = JSON.stringify({ petId });
  t.is((await rest.send('POST', '/store/orders', { raw, headers })).status, 201);
  const call = 'petstore.v1.OrderService/PlaceOrder';
  const names = ['POST', call, 'limits.admit', 'transaction', 'pets.lock', 'commit'];
  const spans = await spansOf(t.context.collector, traceId, names);
  const parentOf = (name: string) => spans.get(name)?.parentSpanId;
  const idOf = (name: string) => spans.get(name)?.spanId;
  t.is(parentOf('POST'), PARENT);
  t.is(parentOf(call), idOf('POST'));
  for (const name of ['limits.admit', 'transaction']) t.is(parentOf(name), idOf(call), name);
  for (const name of ['pets.lock', 'commit']) t.is(parentOf(name), idOf('transaction'), name);
  t.is(spans.get('limits.admit')?.attributes['db.system.name'], 'redis');
  t.is(spans.get('pets.lock')?.attributes['db.system.name'], 'postgresql');
});
