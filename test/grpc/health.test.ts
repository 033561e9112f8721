import { Client, type ClientReadableStream, status as Code, type ServiceError } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { service } from 'grpc-health-check';
import { insecure, type UnaryMethod, unary } from '../support/grpc.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

interface Health {
  readonly status: string;
}

const test = anyTest as TestFn<TestServer & { client: Client }>;

test.beforeEach(async (t) => {
  const server = await startTestServer();
  t.context = { ...server, client: new Client(server.address, insecure) };
});
test.afterEach.always(async (t) => {
  t.context.client.close();
  await t.context.close();
});

// grpc-health-check types its service without the message types.
const { Check, Watch } = service as unknown as Record<'Check' | 'Watch', UnaryMethod<{ service: string }, Health>>;

/** Watches the health of the whole server and records it. */
function watch(client: Client): { readonly seen: string[]; readonly stream: ClientReadableStream<Health> } {
  const { path, requestSerialize, responseDeserialize } = Watch;
  const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service: '' });
  const seen: string[] = [];
  stream.on('data', ({ status }: Health) => seen.push(status));
  stream.on('error', () => undefined); // the test cancels it
  return { seen, stream };
}

test('Health - Check says SERVING, without a key', async (t) => {
  t.deepEqual((await unary(t.context.client, Check, { service: '' })).message, { status: 'SERVING' });
});

test('Health - Check knows every public service by name', async (t) => {
  for (const name of ['CategoryService', 'InventoryService', 'OrderService', 'PetService']) {
    const { message } = await unary(t.context.client, Check, { service: `petstore.v1.${name}` });
    t.deepEqual(message, { status: 'SERVING' }, name);
  }
  t.deepEqual((await unary(t.context.client, Check, { service: 'grpc.health.v1.Health' })).message, {
    status: 'SERVING',
  });
});

test('Health - Check of an unknown service is NOT_FOUND', async (t) => {
  const error = await t.throwsAsync<ServiceError>(unary(t.context.client, Check, { service: 'petstore.v9.Dragons' }));
  t.is(error.code, Code.NOT_FOUND);
});

test('Health - Watch says SERVING at once, and NOT_SERVING when the server drains', async (t) => {
  const { client, drain } = t.context;
  const { seen, stream } = watch(client);
  await until(() => seen.length > 0, 'the first health');
  t.deepEqual(seen, ['SERVING']);
  const drained = drain();
  await until(() => seen.length > 1, 'the second health');
  t.deepEqual(seen, ['SERVING', 'NOT_SERVING']);
  stream.cancel();
  await drained;
});

test('Health - a server that has drained accepts no call', async (t) => {
  const { grpc, client, drain } = t.context;
  await grpc.category();
  await drain();
  const error = await t.throwsAsync<ServiceError>(unary(client, Check, { service: '' }));
  t.is(error.code, Code.UNAVAILABLE);
});
