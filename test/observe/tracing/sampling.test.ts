/** Which requests are recorded, by the sampler and the caller's flag. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { newTrace, PARENT, startCollector } from '../../support/collector.ts';
import { startTestStack } from '../../support/stack.ts';

/** Lists pets with each traceparent, and stops. Resolves with the trace id of each span, and the server's log. */
async function traced(t: ExecutionContext, sampler: string, ratio: string, ...parents: (string | undefined)[]) {
  const collector = await startCollector();
  t.teardown(collector.close);
  const settings = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio };
  const service = await startTestStack({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...settings });
  t.teardown(service.close);
  for (const traceparent of parents) await service.rest.get('/pets', traceparent ? { headers: { traceparent } } : {});
  await service.stack.stop();
  const log = readFileSync(join(service.config.dataDir, 'logs/server.log'), 'utf8');
  return { ids: collector.spans.map(({ traceId }) => traceId), log };
}

const ALMOST_NONE = '0.0000001';

test.serial("Sampling - with traceidratio neither a caller's flag nor its trace id causes a recording", async (t) => {
  const given = ['1'.padStart(32, '0'), 'f'.repeat(32), newTrace().traceId];
  const parents = given.map((id) => `00-${id}-${PARENT}-01`);
  const { ids, log } = await traced(t, 'traceidratio', ALMOST_NONE, ...parents);
  t.deepEqual(ids, []);
  for (const id of given) t.true(log.includes(`"traceId":"${id}"`));
});

test.serial('Sampling - with traceidratio a request is recorded despite a flag against it', async (t) => {
  const { traceId, traceparent } = newTrace('00');
  const { ids } = await traced(t, 'traceidratio', '0.99999', traceparent);
  t.is(ids.filter((id) => id === traceId).length, 3); // Envoy, the call, and its query
});

test.serial('Sampling - with parentbased_traceidratio the flag decides, and the ratio without one', async (t) => {
  const { traceId, traceparent } = newTrace();
  const parents = [traceparent, newTrace('00').traceparent, undefined];
  const { ids } = await traced(t, 'parentbased_traceidratio', ALMOST_NONE, ...parents);
  // The same three; and Envoy's question about the key: the call and its query.
  t.deepEqual(ids, Array(6).fill(traceId));
});
