import { Metadata, type ServiceError, status as Status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { bearer, detailsOf, unary } from '../../support/grpc.ts';
import { withinOneDay, withinOneMinute } from '../../support/limit-windows.ts';
import { connectOperator, type Operator } from '../../support/operator.ts';
import { listServices } from '../../support/reflection.ts';
import type { RestResponse } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack & { operator: Operator }>;

test.before(async (t) => {
  const stack = await startTestStack({ ADDRESS_PER_MINUTE: '60' });
  t.context = { ...stack, operator: await connectOperator(stack) };
});
test.after.always(async ({ context }) => {
  context.operator.close();
  await context.close();
});

test.beforeEach(() => withinOneDay(30_000));

const NAMES = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] as const;

function numbers({ headers }: RestResponse): (number | undefined)[] {
  return NAMES.map((name) => (headers.has(name) ? Number(headers.get(name)) : undefined));
}

/** First: another test uses up what the address has. */
test.serial('limits - health checks, reflection and /healthz need no key and count nothing', async (t) => {
  await withinOneMinute(20_000);
  const anonymous = t.context.rest.withKey(undefined);
  const leftOfAddress = async () => numbers(await anonymous.get('/pets'))[1];
  const left = Number(await leftOfAddress());
  t.is(left, 59);
  for (let i = 0; i < 5; i += 1) {
    t.is((await anonymous.get('/healthz')).status, 200);
    t.true((await listServices(t.context.publicAddress, 'v1')).length > 0);
  }
  const check = {
    path: '/grpc.health.v1.Health/Check',
    requestSerialize: () => Buffer.alloc(0),
    responseDeserialize: (bytes: Buffer) => bytes.toString('hex'),
  };
  t.is((await unary(t.context.grpc.client, check, {}, new Metadata())).message, '0801'); // SERVING
  t.is(await leftOfAddress(), left - 1);
});

test('limits - every response shows limit, remaining and reset, also responses by Envoy', async (t) => {
  const rest = t.context.rest.withKey(await t.context.operator.keyOf({ perMinute: 1_000, perDay: 60 }));
  const { rest: demo } = t.context;
  const categoryId = await demo.category();
  const gone = await demo.pet({ categoryId });
  const json = { 'content-type': 'application/json' };
  const responses: [status: number, response: RestResponse][] = [
    [200, await rest.get('/pets')],
    [200, await rest.send('HEAD', '/pets')],
    [201, await rest.post('/pets', { name: 'Tom', categoryId })],
    [204, await rest.delete(`/pets/${gone}`)],
    [400, await rest.post('/pets', {})],
    [400, await rest.send('POST', '/pets', { raw: '{', headers: json })], // errors by Envoy from here …
    [400, await rest.get('/pets/abc')],
    [404, await rest.get('/nope')],
    [405, await rest.put('/pets', {})],
    [413, await rest.send('POST', '/pets', { raw: ' '.repeat(1_048_577), headers: json })], // … to here
    [404, await rest.get('/pets/999999')],
    [409, await rest.delete(`/categories/${categoryId}`)],
  ];
  const midnight = Math.ceil(Date.now() / 86_400_000) * 86_400;
  for (const [i, [status, response]] of responses.entries()) {
    t.is(response.status, status);
    t.deepEqual(numbers(response), [60, 59 - i, midnight], response.text); // each counts once
  }
});

test('limits - without a valid key it is a 401 with the numbers of the address, then a 429', async (t) => {
  const statuses: number[] = [];
  for (const key of [undefined, 'nonsense']) {
    const response = await t.context.rest.withKey(key).get('/pets');
    t.is(response.status, 401);
    t.is(numbers(response)[0], 60);
  }
  const anonymous = t.context.rest.withKey(undefined);
  for (let i = 0; i < 150; i += 1) statuses.push((await anonymous.get('/nope')).status);
  t.true(statuses.filter((status) => status === 401).length <= 120); // two minutes at most
  t.true(statuses.includes(429));
  const refused = await anonymous.get('/nope');
  t.is(refused.status, 429);
  t.is(refused.body.code, 'RATE_LIMITED');
  t.regex(refused.headers.get('retry-after') ?? '', /^[1-9]\d?$/);
  t.is((await t.context.rest.get('/pets')).status, 200); // a valid key from the same address is not affected
});

test('limits - on gRPC the numbers are metadata, on success and on error', async (t) => {
  const key = await t.context.operator.keyOf({ perMinute: 100, perDay: 2 });
  const { headers } = await unary(t.context.grpc.client, Pets.listPets, { ids: [], pageToken: '' }, bearer(key));
  t.deepEqual(headers.get('x-ratelimit-limit'), ['2']);
  t.deepEqual(headers.get('x-ratelimit-remaining'), ['1']);
  const missing = await t.throwsAsync<ServiceError>(
    unary(t.context.grpc.client, Pets.getPet, { petId: 999_999n }, bearer(key)),
  );
  t.is(missing.code, Status.NOT_FOUND);
  t.deepEqual(missing.metadata.get('x-ratelimit-remaining'), ['0']);
  const refused = await t.throwsAsync<ServiceError>(
    unary(t.context.grpc.client, Pets.getPet, { petId: 1n }, bearer(key)),
  );
  t.is(refused.code, Status.RESOURCE_EXHAUSTED);
  const [retryAfter] = refused.metadata.get('retry-after');
  t.deepEqual(refused.metadata.get('grpc-retry-pushback-ms'), [`${retryAfter}000`]);
  const { errorInfo, retryInfo, quotaFailure } = detailsOf(refused);
  t.is(errorInfo?.reason, 'RATE_LIMITED');
  t.is(retryInfo?.retryDelay?.seconds, BigInt(String(retryAfter)));
  t.regex(quotaFailure?.violations[0]?.subject ?? '', /^account:\d+$/);
});
