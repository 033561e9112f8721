/** Requests are the same when their messages are equal, whatever their notation and protocol. */
import { Client } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { OrderServiceService as Orders } from '../../../gen/petstore/v1/orders.ts';
import { PetStatus, PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { isError } from '../../support/contract.ts';
import { bearer, insecure, type Method, unary } from '../../support/grpc.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

function post({ rest }: TestStack, path: string, key: string, raw: string, type = 'application/json') {
  return rest.send('POST', path, { raw, headers: { 'content-type': type, 'idempotency-key': key } });
}

test('The same request - white space, field order, unknown fields, numbers in strings do not matter', async (t) => {
  const first = '{"petId":null,"quantity":3,"shipDate":"2027-01-02T03:04:05Z","complete":false}';
  const same = [
    ' { "quantity" : 3 ,\n\t"shipDate":"2027-01-02T03:04:05Z", "complete":false } ',
    '{"complete":false,"shipDate":"2027-01-02T03:04:05Z","quantity":3}',
    '{"colour":"red","complete":false,"shipDate":"2027-01-02T03:04:05Z","quantity":3,"more":{"a":[1]}}',
    '{"quantity":"3","complete":false,"shipDate":"2027-01-02T03:04:05.000Z"}',
    '{"quantity":3.0,"complete":false,"ship_date":"2027-01-02T04:04:05+01:00"}',
  ];
  const placed = await post(t.context, '/store/orders', 'same', first);
  t.is(placed.status, 201);
  for (const raw of same) {
    const again = await post(t.context, '/store/orders', 'same', raw);
    t.is(again.headers.get('idempotency-replayed'), 'true', raw);
    t.is(again.text, placed.text);
  }
  const other = await post(t.context, '/store/orders', 'same', first, 'application/json; charset=utf-8');
  t.is(other.headers.get('idempotency-replayed'), 'true', 'another notation of the same content type');
});

test('The same request - an absent field and its default differ', async (t) => {
  for (const [key, first, other] of [
    ['quantity', '{}', '{"quantity":1}'],
    ['complete', '{"quantity":2}', '{"quantity":2,"complete":false}'],
    ['the other way round', '{"quantity":1}', '{}'],
  ] as const) {
    t.is((await post(t.context, '/store/orders', key.replaceAll(' ', '-'), first)).status, 201);
    const refused = await post(t.context, '/store/orders', key.replaceAll(' ', '-'), other);
    isError(t, refused, 409, 'IDEMPOTENCY_KEY_REUSED');
  }
});

test('The same request - REST and gRPC share the keys, on the public port and on the private one', async (t) => {
  const { rest, key, publicAddress, grpcAddress } = t.context;
  const categoryId = await rest.category();
  const petId = await rest.pet({ categoryId, stock: 9 });
  const cases = [
    {
      path: '/pets',
      json: { name: ' Tom ', categoryId, status: 'sold' },
      method: Pets.createPet as Method<unknown, { readonly id?: bigint }>,
      request: { pet: { name: ' Tom ', categoryId: BigInt(categoryId), status: PetStatus.sold } },
    },
    {
      path: '/store/orders',
      json: { petId, quantity: 2, shipDate: '2027-01-02T03:04:05.5Z', complete: true },
      method: Orders.placeOrder as Method<unknown, { readonly id?: bigint }>,
      request: {
        order: {
          petId: BigInt(petId),
          quantity: 2,
          shipDate: { seconds: 1_798_859_045n, nanos: 500_000_000 },
          complete: true,
        },
      },
    },
  ];
  for (const [index, address] of [publicAddress, grpcAddress].entries()) {
    const client = new Client(address, insecure);
    const call = (method: Method<unknown, { readonly id?: bigint }>, request: unknown, name: string) => {
      const metadata = bearer(key);
      metadata.set('idempotency-key', name);
      return unary(client, method, request, metadata);
    };
    for (const { path, json, method, request } of cases) {
      const restFirst = `rest-first-${index}`;
      const created = await rest.send('POST', path, { json, headers: { 'idempotency-key': restFirst } });
      const replayed = await call(method, request, restFirst);
      t.is(Number(replayed.message.id), created.body.id);
      t.deepEqual(replayed.headers.get('idempotency-replayed'), ['true']);

      const grpcFirst = `grpc-first-${index}`;
      const { message } = await call(method, request, grpcFirst);
      const again = await rest.send('POST', path, { json, headers: { 'idempotency-key': grpcFirst } });
      t.is(again.status, 201);
      t.is(again.body.id, Number(message.id));
      t.is(again.headers.get('location'), `${path}/${message.id}`);
      t.is(again.headers.get('idempotency-replayed'), 'true');
    }
    client.close();
  }
});
