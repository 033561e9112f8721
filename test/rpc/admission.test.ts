/** Who is admitted by a real server, and until when, without a key and with one. */
import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { status as Status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { HealthService } from '../../gen/grpc/health/v1/health.ts';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { WebServiceService } from '../../gen/petstore/web/v1/web.ts';
import { MAX_PER_ADDRESS } from '../../src/rpc/open-calls.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from '../support/hostile/sockets.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { watchEvents } from '../support/watch-events.ts';

/** Methods that need no key. */
const OPEN = [
  HealthService.watch.path,
  HealthService.check.path,
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
] as const;

const test = anyTest as TestFn<TestServer>;

test.beforeEach(async (t) => {
  t.context = await startTestServer();
});
test.afterEach.always((t) => t.context.close());

/** Begins a call that waits for its message. */
function begin(session: ClientHttp2Session, path: string) {
  return session.request(grpcHeaders(path), { endStream: false }).on('error', () => undefined);
}

async function statusOf(session: ClientHttp2Session, path: string): Promise<unknown> {
  const call = begin(session, path);
  call.end(grpcFrame());
  const [headers] = await once(call, 'response');
  return headers['grpc-status'];
}

const GET = [Pets.getPet, { petId: 1n }] as const;

test('Admission - open calls of a method without a key are bounded by address, and cost nobody else', async (t) => {
  const { address, grpc } = t.context;
  for (const path of OPEN) {
    const session = await openSession(targetOf(address, '127.0.0.1'));
    for (let opened = 0; opened < MAX_PER_ADDRESS; opened += 1) begin(session, path);
    await new Promise((resolve) => session.ping(resolve)); // frames arrive in order
    t.is(await statusOf(session, path), String(Status.RESOURCE_EXHAUSTED), path);
    for (const other of OPEN) {
      if (other !== path) t.is(await statusOf(session, other), undefined, `${other} at ${path}`);
    }
    t.is((await grpc.failure(...GET)).reason, 'PET_NOT_FOUND');
    session.destroy();
  }
});

test('Admission - a caller may begin with hundreds of calls at once, also with a key that is new here', async (t) => {
  const failures = await Promise.all(Array.from({ length: 200 }, () => t.context.grpc.failure(...GET)));
  t.deepEqual([...new Set(failures.map(({ reason }) => reason))], ['PET_NOT_FOUND']);
});

test('Admission - a file that is read slowly is sent to its end while the server drains', async (t) => {
  const { address, drain } = t.context;
  const session = await openSession(targetOf(address, '127.0.0.1'));
  const stream = begin(session, WebServiceService.getFile.path);
  stream.end(grpcFrame(WebServiceService.getFile.requestSerialize({ file: 'docs/swagger-ui-bundle.js' })));
  await once(stream, 'response');
  const drained = drain();
  await delay(1_500);
  const [trailers] = await once(stream.resume(), 'trailers');
  t.is(trailers['grpc-status'], String(Status.OK));
  session.destroy();
  await drained;
});

test.serial('Events - a reader that does not read is ended after 30 s, and goes on where it was', async (t) => {
  const { address, grpc, key } = t.context;
  await grpc.category();
  const session = await openSession(targetOf(address, '127.0.0.1'), 0, { initialWindowSize: 0 });
  const { path, requestSerialize } = Events.watchEvents;
  const stream = session.request(grpcHeaders(path, key), { endStream: false }).on('error', () => undefined);
  stream.end(grpcFrame(requestSerialize({ after: 0n, types: [] })));
  await once(stream, 'response');
  const now = performance.now.bind(performance);
  t.teardown(() => Object.assign(performance, { now }));
  performance.now = () => now() + 20_000;
  await delay(2_500);
  t.false(stream.closed);
  performance.now = () => now() + 31_000;
  await until(() => stream.closed, 'the end', 5_000);
  session.destroy();
  const { ids, close } = watchEvents(address, key, { after: 0n });
  await until(() => ids.length > 0, 'the event');
  t.deepEqual(ids, [1]);
  close();
});

test('Admission - hundreds of compressed messages in one frame do not occupy the server', async (t) => {
  const { address } = t.context;
  const session = await openSession(targetOf(address, '127.0.0.1'));
  const compressed = gzipSync(Buffer.alloc(0));
  const message = Buffer.concat([Buffer.of(1, 0, 0, 0, compressed.length), compressed]);
  let decompressors = 0;
  const count = createHook({
    init(_id, type) {
      if (type === 'ZLIB') decompressors += 1;
    },
  }).enable();
  t.teardown(() => count.disable());
  const call = session.request({ ...grpcHeaders(HealthService.check.path), 'grpc-encoding': 'gzip' });
  call.end(Buffer.concat(Array.from({ length: 600 }, () => message)));
  const [headers] = await once(call, 'response');
  t.is(headers['grpc-status'], String(Status.INVALID_ARGUMENT));
  t.true(decompressors < 10, `${decompressors} decompressors`);
  session.destroy();
});
