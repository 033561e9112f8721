/** What needs no key: health and reflection. */
import { once } from 'node:events';
import { Client, status as Code, type ServiceError } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { HealthService, HealthCheckResponse_ServingStatus as Status } from '../../gen/grpc/health/v1/health.ts';
import { insecure, stream, unary } from '../support/calls/grpc.ts';
import { rawGrpc } from '../support/calls/http2.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from '../support/calls/sockets.ts';
import { PUBLIC, SERVICES } from '../support/contract/resources.ts';
import { reflectedMethods } from '../support/service/reflection.ts';
import { startTestServer, type TestServer } from '../support/service/server.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<TestServer & { client: Client }>;

test.before(async (t) => {
  const server = await startTestServer();
  t.context = { ...server, client: new Client(server.address, insecure) };
});
test.after.always(async ({ context }) => {
  context.client.close();
  await context.close();
});

/** Watches the health of a service, or of the whole server, and records it. */
function watch(client: Client, service = '') {
  const call = stream(client, HealthService.watch, { service });
  const seen: Status[] = [];
  call.on('data', ({ status }) => seen.push(status)).on('error', () => undefined);
  return { seen, call };
}

test('Health - Check knows every public service by name', async (t) => {
  const { client } = t.context;
  for (const service of ['', 'grpc.health.v1.Health', ...SERVICES]) {
    const { message } = await unary(client, HealthService.check, { service });
    t.deepEqual(message, { status: Status.SERVING }, service);
  }
  const unknown = unary(client, HealthService.check, { service: 'petstore.v9.Dragons' });
  t.is((await t.throwsAsync<ServiceError>(unknown)).code, Code.NOT_FOUND);
});

test('Health - Watch says SERVING at once, and NOT_SERVING when it drains, and takes no call', async (t) => {
  const server = await startTestServer();
  t.teardown(() => server.close());
  const client = new Client(server.address, insecure);
  const { seen, call } = watch(client);
  await until(() => seen.length > 0, 'the first health');
  t.deepEqual(seen, [Status.SERVING]);
  const drained = server.drain();
  await until(() => seen.length > 1, 'the second health');
  t.deepEqual(seen, [Status.SERVING, Status.NOT_SERVING]);
  const [ended] = await once(call, 'error');
  t.is(ended.code, Code.UNAVAILABLE);
  await drained;
  const error = await t.throwsAsync<ServiceError>(unary(client, HealthService.check, { service: '' }));
  t.is(error.code, Code.UNAVAILABLE);
  client.close();
});

for (const version of ['v1', 'v1alpha'] as const) {
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const listServices = grpcFrame(Buffer.of(0x3a, 0));
  const ask = async (address: string, body: Buffer, from = '127.0.0.1') =>
    (await rawGrpc(targetOf(address, from), { path, body })).status;

  test(`Reflection ${version} - lists health and petstore.v1's services alone, without a key`, async (t) => {
    const health = ['Check', 'List', 'Watch'].map((name) => `grpc.health.v1.Health/${name}`);
    const expected = [...health, ...PUBLIC.map(({ path }) => path.slice(1))];
    t.deepEqual((await reflectedMethods(t.context.address, version)).sort(), expected.sort());
  });

  test(`Reflection ${version} - a message that can not be read is INVALID_ARGUMENT`, async (t) => {
    t.is(await ask(t.context.address, grpcFrame(Buffer.of(0xff, 0xff, 0xff))), Code.INVALID_ARGUMENT);
  });

  test(`Reflection ${version} - a stream has at most 200 requests`, async (t) => {
    const times = (count: number) => Buffer.concat(Array.from({ length: count }, () => listServices));
    t.is(await ask(t.context.address, times(200)), Code.OK);
    t.is(await ask(t.context.address, times(201)), Code.RESOURCE_EXHAUSTED);
  });

  test(`Reflection ${version} - an address has at most 50 streams`, async (t) => {
    const other = '127.0.0.2';
    const session = await openSession(targetOf(t.context.address, other));
    for (let count = 0; count < 50; count += 1) session.request(grpcHeaders(path)).on('error', () => undefined);
    const isRefused = async () => (await ask(t.context.address, listServices, other)) === Code.RESOURCE_EXHAUSTED;
    t.true(await until(isRefused, 'a refusal'));
    session.destroy();
  });
}
