/** The trace id in the logs, and the spans that are sent on shutdown. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { MIGRATIONS } from '../../../src/schema.ts';
import { openSqlite } from '../../../src/storage/sqlite.ts';
import { compile } from '../../../src/storage/statement.ts';
import { newTrace, spansOf, startCollector } from '../../support/collector.ts';
import { startTestStack } from '../../support/stack.ts';

const LIST = 'petstore.v1.PetService/ListPets';
const LIST_ORDERS = 'petstore.v1.OrderService/ListOrders';

test('Traces - the id is in every log line and in the access log, and a clean stop sends all spans', async (t) => {
  const collector = await startCollector();
  const service = await startTestStack({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const { rest, config } = service;
  const database = await openSqlite(join(config.dataDir, 'petstore.sqlite'), MIGRATIONS);
  const sql = 'ALTER TABLE orders RENAME TO hidden';
  await database.transaction((tx) => tx.all(compile(sql, database.knex.raw(sql)), {}));
  await database.close();
  const { traceId, traceparent } = newTrace();
  const response = await rest.get('/store/orders', { headers: { traceparent } });
  t.is(response.status, 500);
  const spans = await spansOf(collector, traceId, ['GET', LIST_ORDERS, 'orders.page']);
  t.like(spans.get(LIST_ORDERS), { status: 2 });
  t.like(spans.get('orders.page'), { status: 2 });

  const last = newTrace();
  await rest.get('/pets', { headers: { traceparent: last.traceparent } });
  await service.stack.stop(); // then the logs are complete, and all spans are sent
  const names = collector.spans.filter((span) => span.traceId === last.traceId).map(({ name }) => name);
  t.deepEqual(names.sort(), ['GET', 'pets.page', LIST]);
  const requestId = response.headers.get('x-request-id');
  const linesOf = (file: string) =>
    readFileSync(join(config.dataDir, 'logs', file), 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  const lines = linesOf('server.log').filter((line) => line.requestId === requestId);
  t.true(lines.some(({ level, err }) => level === 50 && /no such table/.test(err.message)));
  for (const line of lines) t.is(line.traceId, traceId);
  const access = linesOf('access.log').find(({ request_id }) => request_id === requestId);
  t.is(access.trace_id, traceId);
  await service.close();
  await collector.close();
});
