/** Which requests are recorded, whatever their callers say; and the trace ids in the logs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { startTestStack, type TestStack } from '../../support/service/stack.ts';
import { newTrace, PARENT, startCollector } from './test-collector.ts';

/** Lets a service that records a share work, and stops it. Resolves with all spans, and the lines of its logs. */
async function traced(t: ExecutionContext, share: string, work: (service: TestStack) => Promise<unknown>) {
  const collector = await startCollector(t);
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: share };
  const service = await startTestStack(t, settings);
  await work(service);
  await service.stack.stop(); // then the logs are complete, and all spans are sent
  const linesOf = (file: string) =>
    readFileSync(join(service.config.dataDir, 'logs', file), 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  return { spans: collector.spans, linesOf };
}

test.serial("Sampling - of a share, neither a caller's flag nor its trace id causes a recording", async (t) => {
  const ids = ['1'.padStart(32, '0'), 'f'.repeat(32), newTrace().traceId];
  const { spans, linesOf } = await traced(t, '0.0000001', async ({ rest }) => {
    for (const id of ids) await rest.get('/pets', { headers: { traceparent: `00-${id}-${PARENT}-01` } });
  });
  t.deepEqual(spans, []);
  const inLog = linesOf('server.log').map(({ traceId }) => traceId);
  const inAccessLog = linesOf('access.log').map((line) => line.trace_id);
  for (const id of ids) t.true(inLog.includes(id) && inAccessLog.includes(id));
});

test.serial('Sampling - of a share, a request is recorded despite a flag against it', async (t) => {
  const { traceId, traceparent } = newTrace('00');
  const { spans } = await traced(t, '0.99999', ({ rest }) => rest.get('/pets', { headers: { traceparent } }));
  t.true(spans.some((span) => span.traceId === traceId && span.name === 'pets.page'));
});
