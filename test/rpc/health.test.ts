import { Client, type ClientReadableStream, status as Code, type ServiceError } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import {
  type HealthCheckResponse,
  HealthService,
  HealthCheckResponse_ServingStatus as Status,
} from '../../gen/grpc/health/v1/health.ts';
import { insecure, unary } from '../support/grpc.ts';
import { SERVICES } from '../support/resources.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<TestServer & { client: Client }>;

test.beforeEach(async (t) => {
  const server = await startTestServer();
  t.context = { ...server, client: new Client(server.address, insecure) };
});
test.afterEach.always(async (t) => {
  t.context.client.close();
  await t.context.close();
});

/** Watches the health of a service, or of the whole server, and records it. */
function watch(
  client: Client,
  service = '',
): { readonly seen: Status[]; readonly stream: ClientReadableStream<HealthCheckResponse> } {
  const { path, requestSerialize, responseDeserialize } = HealthService.watch;
  const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service });
  const seen: Status[] = [];
  stream.on('data', ({ status }: HealthCheckResponse) => seen.push(status));
  stream.on('error', () => undefined); // the test cancels it
  return { seen, stream };
}

test('Health - Check says SERVING, without a key', async (t) => {
  t.deepEqual((await unary(t.context.client, HealthService.check, { service: '' })).message, {
    status: Status.SERVING,
  });
});

test('Health - Check knows every public service by name', async (t) => {
  for (const service of ['grpc.health.v1.Health', ...SERVICES]) {
    const { message } = await unary(t.context.client, HealthService.check, { service });
    t.deepEqual(message, { status: Status.SERVING }, service);
  }
});

test('Health - Check of an unknown service is NOT_FOUND', async (t) => {
  const error = await t.throwsAsync<ServiceError>(
    unary(t.context.client, HealthService.check, { service: 'petstore.v9.Dragons' }),
  );
  t.is(error.code, Code.NOT_FOUND);
});

test('Health - Watch says SERVING at once, and NOT_SERVING when the server drains', async (t) => {
  const { client, drain } = t.context;
  const { seen, stream } = watch(client);
  await until(() => seen.length > 0, 'the first health');
  t.deepEqual(seen, [Status.SERVING]);
  const drained = drain();
  await until(() => seen.length > 1, 'the second health');
  t.deepEqual(seen, [Status.SERVING, Status.NOT_SERVING]);
  stream.cancel();
  await drained;
});

test('Health - a server that has drained accepts no call', async (t) => {
  const { grpc, client, drain } = t.context;
  await grpc.category();
  await drain();
  const error = await t.throwsAsync<ServiceError>(unary(client, HealthService.check, { service: '' }));
  t.is(error.code, Code.UNAVAILABLE);
});

test('Health - List has every service with its health', async (t) => {
  const { statuses } = (await unary(t.context.client, HealthService.list, {})).message;
  t.deepEqual(statuses[''], { status: Status.SERVING });
  t.true(Object.keys(statuses).includes('petstore.v1.PetService'));
  t.false(Object.keys(statuses).includes('petstore.admin.v1.AdminService'));
});

test('Health - Watch of an unknown service says so, and stays open', async (t) => {
  const { client } = t.context;
  const { seen, stream } = watch(client, 'petstore.v9.Dragons');
  await until(() => seen.length > 0, 'the first health');
  t.deepEqual(seen, [Status.SERVICE_UNKNOWN]);
  t.is(await unary(client, HealthService.check, { service: '' }).then(({ message }) => message.status), Status.SERVING);
  t.is(seen.length, 1);
  stream.cancel();
});
