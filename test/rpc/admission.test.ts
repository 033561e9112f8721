/** Who is admitted by a real server, and until when, without a key and with one. */
import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { status as Status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { HealthService } from '../../gen/grpc/health/v1/health.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { MAX_PER_ADDRESS } from '../../src/rpc/open-calls.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from '../support/hostile/sockets.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

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
