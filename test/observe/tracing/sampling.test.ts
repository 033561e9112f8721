/** Which requests are recorded, by the sampler and the caller's flag. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { newTrace, PARENT, startCollector } from '../../support/collector.ts';
import { startTestStack } from '../../support/stack.ts';

async function start(t: ExecutionContext, sampler: string, ratio: string) {
  const collector = await startCollector();
  const settings = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio };
  const service = await startTestStack({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...settings });
  t.teardown(async () => {
    await service.close();
    await collector.close();
  });
  const list = (traceparent?: string) => service.rest.get('/pets', traceparent ? { headers: { traceparent } } : {});
  return { collector, service, list };
}

const ALMOST_NONE = '0.0000001';

test.serial("Sampling - with traceidratio neither a caller's flag nor its trace id causes a recording", async (t) => {
  const { collector, service, list } = await start(t, 'traceidratio', ALMOST_NONE);
  const ids = ['1'.padStart(32, '0'), 'f'.repeat(32), newTrace().traceId];
  for (const id of ids) await list(`00-${id}-${PARENT}-01`);
  await service.stack.stop();
  t.deepEqual(collector.spans, []);
  const text = readFileSync(join(service.config.dataDir, 'logs/server.log'), 'utf8');
  for (const id of ids) t.true(text.includes(`"traceId":"${id}"`));
});

test.serial('Sampling - with traceidratio a request is recorded despite a flag against it', async (t) => {
  const { collector, service, list } = await start(t, 'traceidratio', '0.99999');
  const { traceId, traceparent } = newTrace('00');
  await list(traceparent);
  await service.stack.stop();
  t.is(collector.spans.filter((span) => span.traceId === traceId).length, 3); // Envoy, the call, and its query
});

test.serial('Sampling - with parentbased_traceidratio the flag decides, and the ratio without one', async (t) => {
  const { collector, service, list } = await start(t, 'parentbased_traceidratio', ALMOST_NONE);
  const { traceId, traceparent } = newTrace();
  await list(traceparent);
  await list(newTrace('00').traceparent);
  await list();
  await service.stack.stop();
  t.deepEqual([...new Set(collector.spans.map((span) => span.traceId))], [traceId]);
  t.is(collector.spans.length, 6); // the same three; and Envoy's question about the key: the call and its query
});
