/** When the service has no room or no server: refusals with Retry-After, and health checks that are right. */
import type { ClientHttp2Session } from 'node:http2';
import { status as Status } from '@grpc/grpc-js';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { HealthCheckResponse_ServingStatus, HealthService } from '../../gen/grpc/health/v1/health.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../src/access/keys/format.ts';
import { isError } from '../support/contract.ts';
import { grpcHeaders, openSession, targetOf } from '../support/hostile/sockets.ts';
import { connectOperator } from '../support/operator.ts';
import { listServices } from '../support/reflection.ts';
import type { RestClient, RestResponse } from '../support/rest-client.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

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

/** Asserts that these are the 503. */
function areUnavailable(t: ExecutionContext<Context>, responses: readonly RestResponse[]): void {
  for (const response of responses) {
    isError(t, response, 503, 'UNAVAILABLE', 'the service is not available just now; try again shortly');
    t.is(response.headers.get('retry-after'), '1');
    t.false(response.headers.has('allow') || response.headers.has('www-authenticate'));
  }
}

test.serial('/healthz - is 200 without a key, with an empty body, whatever the method', async (t) => {
  const { rest } = t.context;
  for (const method of ['GET', 'HEAD', 'POST']) {
    const { status, text } = await rest.withKey(undefined).send(method, '/healthz');
    t.deepEqual([status, text], [200, '']);
  }
  t.is((await rest.get('/healthz')).status, 200);
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
    const key = await operator.keyOf({ perMinute: 10_000, perDay: 10_000 });
    await context.grpc.withKey(key).call(Pets.listPets, {}); // so that Envoy knows the key
    const session = await openSession(targetOf(context.publicAddress, '127.0.0.1'));
    context.sessions.push(session);
    for (let call = 0; call < SHARE; call += 1) {
      const stream = session.request(grpcHeaders(Pets.listPets.path, key), { endStream: false });
      stream.on('error', () => undefined).resume();
    }
    await new Promise((resolve) => session.ping(resolve)); // frames arrive in order: Envoy has all of them
  }
  operator.close();
}

test.serial('503 - a call without a free slot is refused; calls without a key have slots of their own', async (t) => {
  const { rest, grpc, key, publicAddress, stack, sessions } = t.context;
  const anonymous = rest.withKey(undefined);
  const categoryId = await rest.category();
  const petId = await rest.pet({ categoryId });
  await grpc.call(Pets.getPet, { petId: BigInt(petId) }); // so that its thread in Envoy knows the key
  await fill(t.context);

  areUnavailable(t, [
    await rest.get(`/pets/${petId}`),
    await rest.post('/pets', { name: 'Tom', categoryId }),
    await rest.delete(`/pets/${petId}`),
  ]);
  const byConnect = await fetch(`${rest.url}${Pets.listPets.path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/proto', authorization: `Bearer ${key}` },
  });
  t.deepEqual([byConnect.status, byConnect.headers.get('retry-after')], [503, '1']);
  t.like(await byConnect.json(), { code: 'unavailable' });
  const { code, metadata } = await grpc.failure(Pets.getPet, { petId: BigInt(petId) });
  t.deepEqual([code, metadata.get('grpc-retry-pushback-ms')], [Status.UNAVAILABLE, ['1000']]);

  for (const path of ['/healthz', '/openapi.json']) t.is((await anonymous.get(path)).status, 200);
  isError(t, await anonymous.get('/pets'), 401, 'API_KEY_MISSING');
  isError(t, await rest.withKey(generateKey()).get('/pets'), 401, 'API_KEY_INVALID');
  const health = await grpc.withKey(undefined).call(HealthService.check, { service: '' });
  t.is(health.status, HealthCheckResponse_ServingStatus.SERVING);
  t.true((await listServices(publicAddress, 'v1')).includes('petstore.v1.PetService'));
  t.true(await isFull(t.context), 'all slots stayed taken');

  for (const session of sessions) session.destroy();
  await until(async () => (await rest.get('/pets')).status === 200, 'a free slot');
  t.true(stack.servers[0]?.isRunning);
  t.is((await rest.get('/pets')).body.length, 1);
});

/** Repeats the request until the response has this status. */
function untilStatus(rest: RestClient, path: string, status: number): Promise<RestResponse> {
  const look = async () => {
    const response = await rest.get(path);
    return response.status === status && response;
  };
  return until(look, `GET ${path} ${status}`);
}

// The last one: it ends the server.
test.serial(
  '503 - while no server accepts calls, every request is UNAVAILABLE with Retry-After, until one does',
  async (t) => {
    const { rest, stack } = t.context;
    const anonymous = rest.withKey(undefined);
    const id = await rest.category();
    const headers = { 'content-type': 'application/json' };
    stack.servers[0]?.send('drain');
    const onAllThreads = async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => anonymous.get('/healthz')));
      return responses.every(({ status }) => status === 503);
    };
    await until(onAllThreads, 'the change at all threads of Envoy');

    areUnavailable(t, [
      await anonymous.get('/healthz'),
      await rest.get(`/categories/${id}`),
      await rest.post('/categories', { name: 'Dogs' }),
      await rest.delete(`/categories/${id}`),
      await anonymous.get('/categories'), // without a server no caller is authenticated
      await rest.get('/nope'),
      await rest.delete('/categories'),
      await rest.get('/pets/abc'),
      await rest.send('POST', '/categories', { raw: '{', headers }),
      await rest.send('POST', '/categories', { raw: '{"name":"x",}', headers }),
      await rest.send('POST', '/categories', { raw: 'a=b', headers: { 'content-type': 'text/plain' } }),
      await anonymous.send('POST', '/nope', { raw: ' '.repeat(5_000_000), headers }),
    ]);
    const head = await rest.send('HEAD', '/categories');
    t.deepEqual([head.status, head.headers.get('retry-after')], [503, '1']);

    stack.servers[0]?.process.kill('SIGKILL'); // the launcher starts another one
    await untilStatus(anonymous, '/healthz', 200);
    // Each thread of Envoy detects the server at a different time.
    const { body } = await untilStatus(rest, `/categories/${id}`, 200);
    t.deepEqual(body, { id, name: 'Cats' }); // no refused request had an effect
    isError(t, await untilStatus(anonymous, '/categories', 401), 401, 'API_KEY_MISSING');
  },
);
