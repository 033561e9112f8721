import type { ClientHttp2Session } from 'node:http2';
import { Metadata, type ServiceError, status as Status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { HealthCheckResponse_ServingStatus, HealthService } from '../../../gen/grpc/health/v1/health.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../../src/access/keys/format.ts';
import { isError } from '../../support/contract.ts';
import { bearer, unary } from '../../support/grpc.ts';
import { grpcHeaders, openSession, targetOf } from '../../support/hostile/sockets.ts';
import { connectOperator } from '../../support/operator.ts';
import { listServices } from '../../support/reflection.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { until } from '../../support/until.ts';

interface Context extends TestStack {
  /** Each keeps calls open, which occupy slots. */
  readonly sessions: ClientHttp2Session[];
}

const test = anyTest as TestFn<Context>;
/** The share of an account, while others want slots too. */
const SHARE = 64;
/** Eight may have all slots together. More are needed, as not each thread of Envoy has learned each key. */
const MAX_ACCOUNTS = 40;

test.before(async (t) => {
  const stack = await startTestStack();
  t.context = { ...stack, sessions: [] };
});
test.after.always(async ({ context }) => {
  for (const session of context.sessions) session.destroy();
  await context.close();
});

/** Whether all slots for calls are taken, according to Envoy. */
async function isFull({ config }: Context): Promise<boolean> {
  const name = 'cluster.petstore.circuit_breakers.default.rq_open';
  const stats = await fetch(`http://127.0.0.1:${config.envoyAdminPort}/stats?filter=^${name}$`);
  return (await stats.text()).trim() === `${name}: 1`;
}

/** Opens calls without a message, with the keys of as many accounts as it takes to fill all slots. */
async function fill(context: Context): Promise<void> {
  const operator = await connectOperator(context);
  for (let account = 0; !(await isFull(context)); account += 1) {
    if (account === MAX_ACCOUNTS) throw new Error('the calls never took all slots');
    const { key } = await operator.key((await operator.account({ perMinute: 10_000, perDay: 10_000 })).id);
    await unary(context.grpc.client, Pets.listPets, { ids: [], pageToken: '' }, bearer(key)); // Envoy learns the key
    const session = await openSession(targetOf(context.publicAddress, '127.0.0.1'));
    context.sessions.push(session);
    for (let call = 0; call < SHARE; call += 1) {
      const stream = session.request(grpcHeaders(Pets.listPets.path, key), { endStream: false });
      stream.on('error', () => undefined);
      stream.resume();
    }
    await new Promise((resolve) => session.ping(resolve)); // frames arrive in order: Envoy has all of them
  }
  operator.close();
}

test('503 - a call without a free slot is refused; calls without a key have slots of their own', async (t) => {
  const { rest, grpc, key, publicAddress, stack, sessions } = t.context;
  const anonymous = rest.withKey(undefined);
  const categoryId = await rest.category();
  const petId = await rest.pet({ categoryId });
  await unary(grpc.client, Pets.getPet, { petId: BigInt(petId) }, bearer(key)); // its thread in Envoy learns the key
  await fill(t.context);

  const refused = [
    await rest.get('/pets'),
    await rest.get(`/pets/${petId}`),
    await rest.post('/pets', { name: 'Tom', categoryId }),
    await rest.put(`/categories/${categoryId}`, { name: 'Dogs' }),
    await rest.delete(`/pets/${petId}`),
  ];
  for (const response of refused) {
    isError(t, response, 503, 'UNAVAILABLE', 'the service is not available just now; try again shortly');
    t.is(response.headers.get('retry-after'), '1');
  }
  const byConnect = await fetch(`${rest.url}${Pets.listPets.path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/proto', authorization: `Bearer ${key}` },
  });
  t.is(byConnect.status, 503);
  t.is(byConnect.headers.get('retry-after'), '1');
  t.is(((await byConnect.json()) as { code: string }).code, 'unavailable');
  const call = unary(grpc.client, Pets.getPet, { petId: BigInt(petId) }, bearer(key));
  const { code, metadata } = await t.throwsAsync<ServiceError>(call);
  t.is(code, Status.UNAVAILABLE);
  t.deepEqual(metadata.get('grpc-retry-pushback-ms'), ['1000']);

  t.is((await anonymous.get('/healthz')).status, 200);
  t.is((await anonymous.get('/openapi.json')).status, 200);
  t.is((await anonymous.get('/docs')).status, 200);
  isError(t, await anonymous.get('/pets'), 401, 'API_KEY_MISSING');
  isError(t, await rest.withKey(generateKey()).get('/pets'), 401, 'API_KEY_INVALID');
  t.is(
    (await unary(grpc.client, HealthService.check, { service: '' }, new Metadata())).message.status,
    HealthCheckResponse_ServingStatus.SERVING,
  );
  t.true((await listServices(publicAddress, 'v1')).includes('petstore.v1.PetService'));
  t.true(await isFull(t.context), 'all slots stayed taken');

  for (const session of sessions) session.destroy();
  await until(async () => (await rest.get('/pets')).status === 200, 'a free slot');
  t.true(stack.servers[0]?.isRunning);
  t.is((await rest.get(`/pets/${petId}`)).status, 200);
  t.deepEqual((await rest.get(`/categories/${categoryId}`)).body, { id: categoryId, name: 'Cats' });
  t.is(JSON.parse((await rest.get('/pets')).text).length, 1);
});
