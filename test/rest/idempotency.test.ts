/** Idempotency keys through Envoy: the same response, and no other effect. */
import anyTest, { type TestFn } from 'ava';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetStatus, PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { isError, isInvalid } from '../support/contract.ts';
import { GrpcCaller } from '../support/grpc-caller.ts';
import { withinOneDay } from '../support/limit-windows.ts';
import { connectOperator } from '../support/operator.ts';
import { requestsTo } from '../support/resources.ts';
import type { RestClient, RestResponse } from '../support/rest-client.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { http1 } from '../support/wire.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const ORDERS = '/store/orders';
let keys = 0;
const newKey = () => `key-${++keys}`;

/** Sends a POST with a key. A text is sent as it is. */
function post(rest: RestClient, path: string, key: string, body?: object | string, type = 'application/json') {
  const content = typeof body === 'string' ? { raw: body } : { json: body };
  const headers = { 'idempotency-key': key, ...(typeof body === 'string' ? { 'content-type': type } : {}) };
  return rest.send('POST', path, { ...content, headers });
}

const isReplay = ({ headers }: RestResponse) => headers.get('idempotency-replayed') === 'true';

function isReplayOf(first: RestResponse, again: RestResponse): boolean {
  const isSame = ['location', 'etag', 'content-type'].every(
    (name) => again.headers.get(name) === first.headers.get(name),
  );
  return isSame && isReplay(again) && !isReplay(first) && again.status === 201 && again.text === first.text;
}

test('Idempotency-Key - the same request gets the same response, with Idempotency-Replayed: true', async (t) => {
  const { rest } = t.context;
  const creates = await requestsTo(rest, ({ takesIdempotencyKey }) => takesIdempotencyKey);
  for (const { path, json } of [...creates, { path: ORDERS, json: undefined }]) {
    const key = newKey();
    const first = await post(rest, path, key, json);
    t.truthy(first.headers.get('etag'));
    for (const _ of [1, 2]) t.true(isReplayOf(first, await post(rest, path, key, json)), path);
  }
});

test('Idempotency-Key - a replay is the original response, also after a change or deletion', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const [json, key] = [{ petId, quantity: 2 }, newKey()];
  const first = await post(rest, ORDERS, key, json);
  t.true(isReplayOf(first, await post(rest, ORDERS, key, json)));
  t.is((await rest.get(`${ORDERS}?petId=${petId}`)).body.length, 1);
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 3);
  const path = `${ORDERS}/${first.body.id}`;
  for (const change of [
    () => rest.patch(path, { quantity: 4 }),
    () => rest.delete(path),
    () => rest.delete(`/pets/${petId}`),
  ]) {
    await change();
    t.true(isReplayOf(first, await post(rest, ORDERS, key, json)));
  }
  isError(t, await rest.get(path), 404, 'ORDER_NOT_FOUND');
});

test('Idempotency-Key - another request with it is 409 IDEMPOTENCY_KEY_REUSED, an invalid one a 400', async (t) => {
  const { rest } = t.context;
  const key = newKey();
  const first = await post(rest, '/categories', key, { name: 'Cats' });
  isError(t, await post(rest, '/categories', key, { name: 'Dogs' }), 409, 'IDEMPOTENCY_KEY_REUSED', /new key/);
  for (const invalid of [{}, { name: 7 }]) {
    isError(t, await post(rest, '/categories', key, invalid), 400, 'INVALID_ARGUMENT');
  }
  isError(t, await post(rest, '/categories', key, '{'), 400, 'MALFORMED_BODY');
  t.true(isReplayOf(first, await post(rest, '/categories', key, { name: 'Cats' })));
});

test('Idempotency-Key - only a success is stored: after an error the key is free for any request', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 1 });
  const order = (json: object) => post(rest, ORDERS, 'only-a-success', json);
  isError(t, await order({ petId, quantity: 2 }), 409, 'INSUFFICIENT_STOCK');
  isError(t, await order({ petId: 999_999 }), 400, 'UNKNOWN_PET');
  isError(t, await order({ quantity: 0 }), 400, 'INVALID_ARGUMENT');
  await rest.put(`/store/inventory/${petId}`, { quantity: 5 });
  t.true(isReplayOf(await order({ petId, quantity: 2 }), await order({ petId, quantity: 2 })));
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 3);
});

test('Idempotency-Key - is per account and operation', async (t) => {
  const { rest } = t.context;
  const operator = await connectOperator(t.context);
  const account = await operator.account({ perMinute: 1_000, perDay: 1_000 });
  const [one, same] = [(await operator.key(account.id)).key, (await operator.key(account.id)).key];
  operator.close();
  const [key, json] = [newKey(), { name: 'Cats' }];
  const mine = await post(rest, '/categories', key, json);
  const theirs = await post(rest.withKey(one), '/categories', key, json);
  t.false(isReplay(theirs), 'another account');
  t.not(theirs.body.id, mine.body.id);
  t.true(isReplayOf(theirs, await post(rest.withKey(same), '/categories', key, json)), 'another key of the account');
  t.false(isReplay(await post(rest, ORDERS, key)), 'another operation');
});

test('Idempotency-Key - a replay counts against the limits like any request, and is refused beyond them', async (t) => {
  await withinOneDay(20_000);
  const { rest } = t.context;
  const operator = await connectOperator(t.context);
  const caller = rest.withKey(await operator.keyOf({ perMinute: 1_000, perDay: 4 }));
  operator.close();
  const create = (by: RestClient) => post(by, '/categories', 'a-replay-counts', { name: 'Cats' });
  for (const remaining of ['3', '2', '1', '0']) {
    const { status, headers } = await create(caller);
    t.deepEqual([status, headers.get('x-ratelimit-remaining')], [201, remaining]);
  }
  isError(t, await create(caller), 429, 'RATE_LIMITED');
  isError(t, await create(rest.withKey(undefined)), 401, 'API_KEY_MISSING');
});

test('Idempotency-Key - a malformed or repeated one is a 400 INVALID_ARGUMENT with its name', async (t) => {
  const { rest, publicAddress, key: apiKey } = t.context;
  for (const key of ['', 'a b', 'x'.repeat(2_000), 'caf\u00e9', '\u00ff', 'a\tb']) {
    isInvalid(t, await post(rest, '/categories', key, { name: 'Cats' }), 'idempotency-key');
  }
  for (const two of [
    ['a', 'b'],
    ['a', 'a'],
    ['a', '\u00e9'],
    ['\u00e9', 'a'],
  ]) {
    const lines = two.map((key) => `Idempotency-Key: ${key}\r\n`).join('');
    const head = `POST ${ORDERS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: 0\r\n`;
    const request = Buffer.from(`${head}${lines}\r\n`, 'latin1');
    isInvalid(t, await http1(publicAddress, request), 'idempotency-key');
  }
});

test('The same request - white space, field order, unknown fields, numbers in strings do not matter', async (t) => {
  const { rest } = t.context;
  const key = newKey();
  const first = '{"petId":null,"quantity":3,"shipDate":"2027-01-02T03:04:05Z","complete":false}';
  const placed = await post(rest, ORDERS, key, first);
  for (const raw of [
    ' { "quantity" : 3 ,\n\t"shipDate":"2027-01-02T03:04:05Z", "complete":false } ',
    '{"complete":false,"shipDate":"2027-01-02T03:04:05Z","quantity":3}',
    '{"colour":"red","complete":false,"shipDate":"2027-01-02T03:04:05Z","quantity":3,"more":{"a":[1]}}',
    '{"quantity":"3","complete":false,"shipDate":"2027-01-02T03:04:05.000Z"}',
    '{"quantity":3.0,"complete":false,"ship_date":"2027-01-02T04:04:05+01:00"}',
  ]) {
    t.true(isReplayOf(placed, await post(rest, ORDERS, key, raw)), raw);
  }
  t.true(isReplayOf(placed, await post(rest, ORDERS, key, first, 'application/json; charset=utf-8')));
  isError(t, await post(rest, ORDERS, key, '{"quantity":3}'), 409, 'IDEMPOTENCY_KEY_REUSED'); // an absent field
});

test('The same request - REST and gRPC share the keys, on the public port and on the private one', async (t) => {
  const { rest, key, grpc, grpcAddress } = t.context;
  const categoryId = await rest.category();
  const petId = await rest.pet({ categoryId, stock: 9 });
  const pet = { name: ' Tom ', categoryId: BigInt(categoryId), status: PetStatus.sold };
  const shipDate = { seconds: 1_798_859_045n, nanos: 500_000_000 };
  const order = { petId: BigInt(petId), quantity: 2, shipDate, complete: true };
  const direct = new GrpcCaller(grpcAddress, key);
  for (const caller of [grpc, direct]) {
    for (const { path, json, call } of [
      {
        path: '/pets',
        json: { name: ' Tom ', categoryId, status: 'sold' },
        call: (metadata: Record<string, string>) => caller.exchange(Pets.createPet, { pet }, { metadata }),
      },
      {
        path: ORDERS,
        json: { petId, quantity: 2, shipDate: '2027-01-02T03:04:05.5Z', complete: true },
        call: (metadata: Record<string, string>) => caller.exchange(Orders.placeOrder, { order }, { metadata }),
      },
    ]) {
      const [restFirst, grpcFirst] = [newKey(), newKey()];
      const created = await post(rest, path, restFirst, json);
      const replayed = await call({ 'idempotency-key': restFirst });
      t.is(Number(replayed.message.id), created.body.id);
      t.deepEqual(replayed.headers.get('idempotency-replayed'), ['true']);
      t.deepEqual(replayed.headers.get('etag'), [created.headers.get('etag')]);

      const { message } = await call({ 'idempotency-key': grpcFirst });
      const again = await post(rest, path, grpcFirst, json);
      t.deepEqual([again.status, again.body.id, isReplay(again)], [201, Number(message.id), true]);
      t.is(again.headers.get('location'), `${path}/${message.id}`);
    }
  }
  direct.close();
});
