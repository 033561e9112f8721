/** The spans and metrics of PostgreSQL and Redis: available, unavailable, and available again. */
import { OrderServiceService as Orders } from '../../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { watchEvents } from '../../support/calls/watch-events.ts';
import { freePorts } from '../../support/machine/ports.ts';
import { holding } from '../../support/machine/postgres.ts';
import { scrape, sumOf, untilSum } from '../../support/service/exposition.ts';
import { startTestServer } from '../../support/service/server.ts';
import { sharedMissing, startShared } from '../../support/service/shared.ts';
import { sharing } from '../../support/service/sharing.ts';
import { newTrace, PARENT, spansOf, startCollector } from '../tracing/test-collector.ts';

const test = sharing(sharedMissing, async (t) => {
  const [shared, [port = 0]] = await Promise.all([startShared(t), freePorts(1)]);
  const settings = await shared.settings();
  const collector = await startCollector(t);
  const observed = { METRICS_PORT: String(port), OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const server = await startTestServer(t, { ...settings, ...observed });
  return { shared, url: settings.DATABASE_URL ?? '', server, port, collector };
});

test.serial('Traces - the Redis call and the PostgreSQL transaction are children of the gRPC call', async (t) => {
  const { server, collector } = t.context;
  const petId = await server.grpc.pet({ stock: 3 });
  const { traceId, traceparent } = newTrace();
  await server.grpc.call(Orders.placeOrder, { order: { petId } }, { metadata: { traceparent } });
  const call = 'petstore.v1.OrderService/PlaceOrder';
  const spans = await spansOf(collector, traceId, [call, 'limits.admit', 'transaction', 'pets.lock']);
  const parentOf = (name: string) => spans.get(name)?.parentSpanId;
  t.is(parentOf(call), PARENT);
  for (const name of ['limits.admit', 'transaction']) t.is(parentOf(name), spans.get(call)?.spanId, name);
  t.is(parentOf('pets.lock'), spans.get('transaction')?.spanId);
  t.is(spans.get('limits.admit')?.attributes['db.system.name'], 'redis');
  t.is(spans.get('pets.lock')?.attributes['db.system.name'], 'postgresql');
});

test.serial('Events - a feed that stands still while writes go on is shown, until it moves on', async (t) => {
  const { server, port, url } = t.context;
  const stalled = 'petstore_events_stalled_seconds';
  t.is(sumOf(await scrape(port), stalled), 0);
  const feed = watchEvents(server.address, server.key);
  await untilSum(port, 'petstore_grpc_open_calls', { kind: 'feed' }, (sum) => sum === 1);
  const long = await holding(url, "BEGIN; INSERT INTO categories (name) VALUES ('late')");
  t.true((sumOf(await scrape(port), stalled) ?? 9) < 1);
  await server.grpc.category();
  await untilSum(port, stalled, {}, (sum) => sum > 1);
  await long.query('COMMIT');
  await untilSum(port, stalled, {}, (sum) => sum < 1);
  await long.end();
  feed.close();
});

test.serial('Redis - is shown as up, or as down while this server counts by itself, without a span', async (t) => {
  const { server, shared, port, collector } = t.context;
  await untilSum(port, 'petstore_redis_up', {}, (sum) => sum === 1);
  await shared.redis.kill();
  await server.grpc.category();
  await untilSum(port, 'petstore_redis_up', {}, (sum) => sum === 0);
  const { traceId, traceparent } = newTrace();
  await server.grpc.call(Pets.listPets, { ids: [], pageToken: '' }, { metadata: { traceparent } });
  t.false((await spansOf(collector, traceId, ['petstore.v1.PetService/ListPets'])).has('limits.admit'));
  await shared.redis.startAgain();
  await untilSum(port, 'petstore_redis_up', {}, (sum) => sum === 1);
});

test.serial('Database - is shown as up, or as down while calls fail', async (t) => {
  const { server, shared, port } = t.context;
  await untilSum(port, 'petstore_database_up', {}, (sum) => sum === 1);
  const read = () => server.grpc.call(Pets.getPet, { petId: 1n }).catch((error: unknown) => error);
  await shared.postgres.kill();
  await read();
  await untilSum(port, 'petstore_database_up', {}, (sum) => sum === 0);
  t.true((sumOf(await scrape(port), 'petstore_errors_total', { reason: 'UNAVAILABLE' }) ?? 0) > 0);
  await shared.postgres.start();
  await untilSum(port, 'petstore_database_up', {}, (sum) => {
    void read();
    return sum === 1;
  });
});
