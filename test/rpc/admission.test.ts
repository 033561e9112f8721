/** Who is admitted by a real server, and until when, without a key and with one. */
import { createHook } from 'node:async_hooks';
import type { ClientHttp2Session } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { status as Status } from '@grpc/grpc-js';
import test, { type ExecutionContext } from 'ava';
import { HealthService } from '../../gen/grpc/health/v1/health.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { WebServiceService } from '../../gen/petstore/web/v1/web.ts';
import { generateKey } from '../../src/access/keys/format.ts';
import { MAX_PER_ADDRESS } from '../../src/rpc/open-calls.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from '../support/hostile/sockets.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

/** Methods that need no key. */
const OPEN = [
  HealthService.watch.path,
  HealthService.check.path,
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
] as const;

async function start(t: ExecutionContext): Promise<TestServer> {
  const server = await startTestServer({ ADDRESS_PER_MINUTE: '5' });
  t.teardown(() => server.close());
  return server;
}

/** Begins a call that waits for its message. */
function begin(session: ClientHttp2Session, path: string) {
  return session.request(grpcHeaders(path), { endStream: false }).on('error', () => undefined);
}

/** A connection with as many calls of a method as an address may have open. */
async function fill(t: ExecutionContext, { address }: TestServer, path: string): Promise<ClientHttp2Session> {
  const session = await openSession(targetOf(address, '127.0.0.1'));
  t.teardown(() => session.destroy());
  for (let opened = 0; opened < MAX_PER_ADDRESS; opened += 1) begin(session, path);
  await new Promise((resolve) => session.ping(resolve)); // frames arrive in order
  return session;
}

function statusOf(session: ClientHttp2Session, path: string): Promise<unknown> {
  const call = begin(session, path);
  call.end(grpcFrame());
  return new Promise((resolve) => call.on('response', (headers) => resolve(headers['grpc-status'])));
}

const GET = [Pets.getPet, { petId: 1n }] as const;

test('Admission - open calls of a method without a key are bounded by address, and cost nobody else', async (t) => {
  for (const path of OPEN) {
    const server = await start(t);
    const session = await fill(t, server, path);
    t.is(await statusOf(session, path), String(Status.RESOURCE_EXHAUSTED), path);
    for (const other of OPEN)
      if (other !== path) t.is(await statusOf(session, other), undefined, `${other} at ${path}`);
    const key = await server.grpc.failure(...GET);
    t.is(key.reason, 'PET_NOT_FOUND', 'a key that this server has not seen before');
  }
});

test('Admission - at an address that has used up its minute a valid key is served, an invalid one a 429', async (t) => {
  const { grpc } = await start(t);
  const [anonymous, invalid] = [grpc.withKey(undefined), grpc.withKey(generateKey())];
  const reasons: unknown[] = [];
  for (let sent = 0; sent < 6; sent += 1) reasons.push((await anonymous.failure(...GET)).reason);
  t.deepEqual(reasons.slice(-1), ['RATE_LIMITED']);
  t.is((await grpc.failure(...GET)).reason, 'PET_NOT_FOUND');
  t.is((await invalid.failure(...GET)).reason, 'RATE_LIMITED');
  for (const client of [anonymous, invalid]) client.close();
});

test('Admission - a caller may begin with hundreds of calls at once, also with a key that is new here', async (t) => {
  const { grpc } = await start(t);
  const failures = await Promise.all(Array.from({ length: 200 }, () => grpc.failure(...GET)));
  t.deepEqual([...new Set(failures.map(({ reason }) => reason))], ['PET_NOT_FOUND']);
});

test('Admission - an unknown method is a 401 without a key, and UNIMPLEMENTED with one', async (t) => {
  const { grpc } = await start(t);
  const anonymous = grpc.withKey(undefined);
  for (const path of ['/petstore.v1.PetService/Fly', '/a.b.C/D', '/']) {
    t.like(await anonymous.failureOfBytes(path, Buffer.of()), { code: Status.UNAUTHENTICATED });
    t.like(await grpc.failureOfBytes(path, Buffer.of()), { code: Status.UNIMPLEMENTED, reason: 'ROUTE_NOT_FOUND' });
  }
  anonymous.close();
});

test('Admission - streams end with UNAVAILABLE when the server drains', async (t) => {
  const { address, drain } = await start(t);
  const session = await openSession(targetOf(address, '127.0.0.1'));
  const stream = begin(session, HealthService.watch.path);
  stream.end(grpcFrame());
  const trailers = new Promise<object>((resolve) => stream.on('trailers', resolve));
  await new Promise((resolve) => stream.resume().on('response', resolve));
  const startMs = performance.now();
  await drain();
  t.like(await trailers, { 'grpc-status': String(Status.UNAVAILABLE) });
  t.true(performance.now() - startMs < 5_000);
  session.destroy();
});

test('Admission - a file that is read slowly is sent to its end while the server drains', async (t) => {
  const { address, drain } = await start(t);
  const session = await openSession(targetOf(address, '127.0.0.1'));
  const stream = begin(session, WebServiceService.getFile.path);
  stream.end(grpcFrame(WebServiceService.getFile.requestSerialize({ file: 'docs/swagger-ui-bundle.js' })));
  const trailers = new Promise<object>((resolve) => stream.on('trailers', resolve).on('close', () => resolve({})));
  await new Promise((resolve) => stream.on('response', resolve));
  const drained = drain();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  stream.resume();
  t.like(await trailers, { 'grpc-status': String(Status.OK) });
  session.destroy();
  await drained;
});

test('Admission - hundreds of compressed messages in one frame do not occupy the server', async (t) => {
  const { address } = await start(t);
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
  const status = await new Promise((resolve) => call.on('response', (headers) => resolve(headers['grpc-status'])));
  t.is(status, String(Status.INVALID_ARGUMENT));
  t.true(decompressors < 10, `${decompressors} decompressors`);
  session.destroy();
});

test("Admission - Envoy's own questions have an answer for Envoy alone", async (t) => {
  const { grpc } = await start(t);
  const failure = await grpc.failureOfBytes('/petstore.edge.v1.EdgeService/Judge', Buffer.of());
  t.like(failure, { code: Status.UNIMPLEMENTED, reason: 'ROUTE_NOT_FOUND' });
});
