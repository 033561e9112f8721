/** Which requests are recorded, by the sampler and the caller's flag. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { newTrace, PARENT, startCollector } from '../../support/collector.ts';
import { startTestStack } from '../../support/stack.ts';

const ALMOST_NONE = '0.0000001';

test.serial("Sampling - with traceidratio neither a caller's flag nor its trace id causes a recording", async (t) => {
  const collector = await startCollector();
  const settings = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: ALMOST_NONE };
  const service = await startTestStack({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...settings });
  const ids = ['1'.padStart(32, '0'), 'f'.repeat(32), newTrace().traceId];
  for (const id of ids) await service.rest.get('/pets', { headers: { traceparent: `00-${id}-${PARENT}-01` } });
  await service.stack.stop();
  t.deepEqual(collector.spans, []);
  const text = readFileSync(join(service.config.dataDir, 'logs/server.log'), 'utf8');
  for (const id of ids) t.true(text.includes(`"traceId":"${id}"`));
  await service.close();
  await collector.close();
});

test.serial('Sampling - with traceidratio a request is recorded despite a flag against it', async (t) => {
  const collector = await startCollector();
  const settings = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.99999' };
  const service = await startTestStack({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...settings });
  const { traceId, traceparent } = newTrace('00');
  await service.rest.get('/pets', { headers: { traceparent } });
  await service.close();
  t.is(collector.spans.filter((span) => span.traceId === traceId).length, 3); // Envoy, the call, and its query
  await collector.close();
});

test.serial('Sampling - with parentbased_traceidratio the flag decides, and the ratio without one', async (t) => {
  const collector = await startCollector();
  const settings = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: ALMOST_NONE };
  const service = await startTestStack({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...settings });
  const { traceId, traceparent } = newTrace();
  await service.rest.get('/pets', { headers: { traceparent } });
  await service.rest.get('/pets', { headers: { traceparent: newTrace('00').traceparent } });
  await service.rest.get('/pets');
  await service.close();
  t.deepEqual([...new Set(collector.spans.map((span) => span.traceId))], [traceId]);
  t.is(collector.spans.length, 6); // the same three; and Envoy's question about the key: the call and its query
  await collector.close();
});
