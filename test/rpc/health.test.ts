/** What needs no key: health and reflection. */
import { once } from 'node:events';
import { Client, status as Code, type ServiceError } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { HealthService, HealthCheckResponse_ServingStatus as Status } from '../../gen/grpc/health/v1/health.ts';
import { insecure, stream, unary } from '../support/grpc.ts';
import { askInBytes, filesOf, listServices } from '../support/reflection.ts';
import { SERVICES } from '../support/resources.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
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
  test(`Reflection ${version} - lists health and petstore.v1's services alone, without a key`, async (t) => {
    const listed = await listServices(t.context.address, version);
    t.deepEqual(listed.sort(), ['grpc.health.v1.Health', ...SERVICES].sort());
  });

  test(`Reflection ${version} - gives every file that a client needs, and nothing for an unknown name`, async (t) => {
    const { address } = t.context;
    for (const symbol of ['petstore.v1.OrderService', 'petstore.v1.Pet', 'petstore.v1.PetService.GetPet']) {
      const files = await filesOf(address, version, symbol);
      const names = files.map(({ name }) => name);
      t.true(names.some((name) => name.startsWith('petstore/v1/')));
      for (const { dependency } of files) for (const name of dependency) t.true(names.includes(name), name);
    }
    t.deepEqual(await filesOf(address, version, 'petstore.v1.Dragon'), []);
    const malformed = askInBytes(address, version, Buffer.of(0xff, 0xff, 0xff));
    t.is((await t.throwsAsync<ServiceError>(malformed)).code, Code.INVALID_ARGUMENT);
  });
}
