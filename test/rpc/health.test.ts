/** Health, by service. */
import { once } from 'node:events';
import { status as Code } from '@grpc/grpc-js';
import { HealthService, HealthCheckResponse_ServingStatus as Status } from '../../gen/grpc/health/v1/health.ts';
import { stream } from '../support/calls/grpc.ts';
import { SERVICES } from '../support/contract/resources.ts';
import { serverTest } from '../support/service/shared-stack.ts';
import { until } from '../support/until.ts';

const test = serverTest();

test.serial('Health - Check knows every public service by name', async (t) => {
  const { grpc } = t.context;
  for (const service of ['', 'grpc.health.v1.Health', ...SERVICES]) {
    t.deepEqual(await grpc.call(HealthService.check, { service }), { status: Status.SERVING }, service);
  }
  t.is((await grpc.failure(HealthService.check, { service: 'petstore.v9.Dragons' })).code, Code.NOT_FOUND);
});

test.serial('Health - Watch says SERVING at once, and NOT_SERVING when it drains, and takes no call', async (t) => {
  const { grpc, drain } = t.context;
  const { client } = grpc;
  const seen: Status[] = [];
  const call = stream(client, HealthService.watch, { service: '' });
  call.on('data', ({ status }) => seen.push(status)).on('error', () => undefined);
  await until(() => seen.length > 0, 'the first health');
  t.deepEqual(seen, [Status.SERVING]);
  const drained = drain();
  await until(() => seen.length > 1, 'the second health');
  t.deepEqual(seen, [Status.SERVING, Status.NOT_SERVING]);
  const [ended] = await once(call, 'error');
  t.is(ended.code, Code.UNAVAILABLE);
  await drained;
  t.is((await grpc.failure(HealthService.check, { service: '' })).code, Code.UNAVAILABLE);
});
