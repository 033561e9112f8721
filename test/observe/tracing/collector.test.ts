/** A collector that is unavailable, frozen or not configured costs calls nothing. */
import anyTest, { type TestFn } from 'ava';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { startCollector } from '../../support/collector.ts';
import { freePorts } from '../../support/ports.ts';
import { createDataDir, type ServerProcess, startServerProcess } from '../../support/process.ts';
import { until } from '../../support/until.ts';

const test = anyTest as TestFn<{ readonly folder: Awaited<ReturnType<typeof createDataDir>> }>;

test.beforeEach(async (t) => {
  t.context = { folder: await createDataDir() };
});
test.afterEach.always((t) => t.context.folder.remove());

/** Writes to stderr which modules of @opentelemetry Node loads. */
const REPORT_LOADS = `data:text/javascript,import{registerHooks}from'node:module';registerHooks({load(url,context,next){
  if(url.includes('@opentelemetry'))process.stderr.write('loaded '+url+'\\n');return next(url,context)}})`;

/** How many spans are kept, how many are sent at once, and how long the server waits for the collector. */
const [MAX_SPANS, BATCH, EXPORT_MS] = [4_096, 512, 3_000];

/** Resolves with the longest time of a call. */
async function call(server: ServerProcess, times: number): Promise<number> {
  let slowestMs = 0;
  const timed = async () => {
    const beganMs = performance.now();
    await server.grpc.call(Pets.listPets, { ids: [], pageToken: '' });
    slowestMs = Math.max(slowestMs, performance.now() - beganMs);
  };
  for (let done = 0; done < times; done += 50) await Promise.all(Array.from({ length: 50 }, timed));
  return slowestMs;
}

async function stop(server: ServerProcess): Promise<number> {
  server.grpc.close();
  const beganMs = performance.now();
  const { code } = await server.end('SIGTERM');
  if (code !== 0) throw new Error(`it ended with ${code}: ${server.errors}`);
  return performance.now() - beganMs;
}

test.serial('Collector - without one no module of OpenTelemetry is loaded', async (t) => {
  const options = { NODE_OPTIONS: `--import=${REPORT_LOADS.replaceAll('\n', '').replaceAll(' ', '%20')}` };
  const off = await startServerProcess(t.context.folder.path, options);
  await call(off, 50);
  await stop(off);
  t.is(off.errors, '');
  const collector = await startCollector();
  const on = await startServerProcess(t.context.folder.path, {
    ...options,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
  await call(on, 50);
  await stop(on);
  t.regex(on.errors, /loaded .*@opentelemetry/); // the hook sees it
  await collector.close();
});

test.serial('Collector - an outage is one line in the log, and its end another', async (t) => {
  const [port] = await freePorts(1);
  const endpoint = `http://127.0.0.1:${port}`;
  const server = await startServerProcess(t.context.folder.path, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
  const UNAVAILABLE = /traces can not be sent/g;
  await until(async () => {
    await call(server, 50);
    return UNAVAILABLE.test(server.output);
  }, 'the line');
  await call(server, 50);
  t.is(server.output.match(UNAVAILABLE)?.length, 1);
  const collector = await startCollector(port);
  await until(async () => {
    await call(server, 50);
    return server.output.includes('traces are sent again');
  }, 'the other line');
  t.true(collector.spans.length > 0);
  await collector.close();
  const tookMs = await stop(server);
  t.true(tookMs < 8_000, `${tookMs} ms`);
});

test.serial('Collector - with a frozen one no call waits, and a bounded number of spans is kept', async (t) => {
  const collector = await startCollector();
  collector.freeze();
  const server = await startServerProcess(t.context.folder.path, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const slowestMs = await call(server, 2 * MAX_SPANS); // each has a span of its own at least
  t.true(slowestMs < EXPORT_MS, `a call took ${slowestMs} ms`);
  collector.thaw();
  await until(() => collector.spans.length > BATCH && server.output.includes('traces are sent again'), 'kept spans');
  await stop(server); // sends the rest
  t.true(collector.spans.length <= MAX_SPANS + BATCH, `${collector.spans.length} spans were kept`);
  await collector.close();
});

test.serial('Collector - with a frozen one a stop takes seconds', async (t) => {
  const collector = await startCollector();
  collector.freeze();
  const server = await startServerProcess(t.context.folder.path, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  await call(server, 50);
  const tookMs = await stop(server);
  t.true(tookMs < 8_000, `${tookMs} ms`);
  await collector.close();
});
