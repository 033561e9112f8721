/**
 * A collector that is unavailable, frozen or not configured costs calls nothing. Which requests are recorded, whatever
 * their callers say; and the trace ids in the logs.
 */
import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { OrderServiceService as Orders } from '../../../gen/petstore/v1/orders.ts';
import type { GrpcCaller } from '../../support/calls/grpc-caller.ts';
import { median } from '../../support/numbers.ts';
import { startTestServer } from '../../support/service/server.ts';
import { startTestStack, type TestStack } from '../../support/service/stack.ts';
import { until } from '../../support/until.ts';
import { newTrace, PARENT, startCollector } from './test-collector.ts';

/** How many spans are kept, how many are sent at once, and how long the server waits for the collector. */
const [MAX_SPANS, BATCH, EXPORT_MS] = [4_096, 512, 3_000];
/** The call, its transaction and three statements. */
const SPANS_PER_CALL = 5;
const STOP_MS = 8_000;

/**
 * Places orders. Each has many spans: a busy machine too makes them faster than they are sent to a frozen collector,
 * and lost. Resolves with the times of the calls.
 */
async function call({ grpc }: { readonly grpc: GrpcCaller }, times = 50): Promise<number[]> {
  const petId = await grpc.pet({ stock: 100_000 });
  const tookMs: number[] = [];
  const timed = async () => {
    const beganMs = performance.now();
    await grpc.call(Orders.placeOrder, { order: { petId } });
    tookMs.push(performance.now() - beganMs);
  };
  for (let done = 0; done < times; done += 50) await Promise.all(Array.from({ length: 50 }, timed));
  return tookMs;
}

test.serial('Collector - with a frozen one no call waits, and a bounded number of spans is kept', async (t) => {
  const collector = Object.assign(await startCollector(t), { isFrozen: true });
  const server = await startTestServer(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const tookMs = await call(server, (MAX_SPANS + 4 * BATCH) / SPANS_PER_CALL);
  t.true(median(tookMs) < EXPORT_MS); // on a slow machine some calls take as long
  const isLogged = (text: string) => server.logs.some(({ msg }) => msg.startsWith(text));
  await until(() => isLogged('traces can not be sent'), 'the end of the first export');
  collector.isFrozen = false;
  const newSpans = (await call(server)).length * SPANS_PER_CALL; // on a slow machine all others may be lost by now
  await until(() => isLogged('traces are sent again'), 'the end of the outage');
  await server.close(); // sends the rest
  const kept = collector.spans.length - newSpans;
  t.true(kept <= MAX_SPANS + BATCH, `${kept} spans were kept`);
  const told = server.logs.map(({ msg }) => msg).filter((msg) => msg.startsWith('traces '));
  t.true(/can not/.test(told[0] ?? '') && told.every((msg, index) => msg !== told[index - 1]), told.join('\n'));
});

test.serial('Collector - with a frozen one a stop takes seconds', async (t) => {
  const { url } = Object.assign(await startCollector(t), { isFrozen: true });
  const server = await startTestServer(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url });
  await call(server, (4 * BATCH) / SPANS_PER_CALL);
  const beganMs = performance.now();
  await server.close();
  const tookMs = performance.now() - beganMs;
  t.true(tookMs < STOP_MS, `${tookMs} ms`);
});

/** Lets a service that records a share work, and stops it. Resolves with all spans, and whether a log has a text. */
async function traced(t: ExecutionContext, share: string, work: (service: TestStack) => Promise<unknown>) {
  const collector = await startCollector(t);
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: share };
  const service = await startTestStack(t, settings);
  await work(service);
  await service.stack.stop(); // then the logs are complete, and all spans are sent
  const logged = (file: string, id: string) =>
    readFileSync(`${service.config.dataDir}/logs/${file}`, 'utf8').includes(id);
  return { spans: collector.spans, logged };
}

test.serial("Sampling - of a share, neither a caller's flag nor its trace id causes a recording", async (t) => {
  const ids = ['1'.padStart(32, '0'), 'f'.repeat(32), newTrace().traceId];
  const { spans, logged } = await traced(t, '0.0000001', async ({ rest }) => {
    for (const id of ids) await rest.get('/pets', { headers: { traceparent: `00-${id}-${PARENT}-01` } });
  });
  t.deepEqual(spans, []);
  for (const id of ids) t.true(logged('server.log', `"traceId":"${id}"`) && logged('access.log', `"trace_id":"${id}"`));
  const { traceId, traceparent } = newTrace('00'); // nor does a flag against it prevent one
  const most = await traced(t, '0.99999', ({ rest }) => rest.get('/pets', { headers: { traceparent } }));
  t.true(most.spans.some((span) => span.traceId === traceId && span.name === 'pets.page'));
});
