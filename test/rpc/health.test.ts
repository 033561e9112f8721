/** Health, by service. */
import { once } from 'node:events';
import { Client, status as Code, type ServiceError } from '@grpc/grpc-js';
import test, { type ExecutionContext } from 'ava';
import { HealthService, HealthCheckResponse_ServingStatus as Status } from '../../gen/grpc/health/v1/health.ts';
import { insecure, stream, unary } from '../support/calls/grpc.ts';
import { SERVICES } from '../support/contract/resources.ts';
import { startTestServer } from '../support/service/server.ts';
import { until } from '../support/until.ts';

async function start(t: ExecutionContext) {
  const server = await startTestServer(t);
  const client = new Client(server.address, insecure);
  t.teardown(() => client.close());
  return { server, client };
}

/** Watches the health of a service, or of the whole server, and records it. */
function watch(client: Client, service = '') {
  const call = stream(client, HealthService.watch, { service });
  const seen: Status[] = [];
  call.on('data', ({ status }) => seen.push(status)).on('error', () => undefined);
  return { seen, call };
}

test('Health - Check knows every public service by name', async (t) => {
  const { client } = await start(t);
  for (const service of ['', 'grpc.health.v1.Health', ...SERVICES]) {
    const { message } = await unary(client, HealthService.check, { service });
    t.deepEqual(message, { status: Status.SERVING }, service);
  }
  const unknown = unary(client, HealthService.check, { service: 'petstore.v9.Dragons' });
  t.is((await t.throwsAsync<ServiceError>(unknown)).code, Code.NOT_FOUND);
});

test('Health - Watch says SERVING at once, and NOT_SERVING when it drains, and takes no call', async (t) => {
  const { server, client } = await start(t);
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
});
