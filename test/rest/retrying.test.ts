/**
 * What makes a request safe to send again, through Envoy: entity tags, conditions and idempotency keys. How lists of
 * tags are parsed: test/rpc/operations.test.ts.
 */
import type { ExecutionContext } from 'ava';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { GrpcCaller } from '../support/calls/grpc-caller.ts';
import type { RestClient, RestResponse } from '../support/calls/rest-client.ts';
import { http1, http2 } from '../support/calls/wire.ts';
import { isError, isInvalid } from '../support/contract/errors.ts';
import { requestsTo, type TestRequest } from '../support/contract/resources.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';

type Test = ExecutionContext<TestStack>;

const test = stackTest();

const etagOf = ({ headers }: RestResponse) => headers.get('etag') ?? 'none';
const tagAt = async (rest: RestClient, path: string) => etagOf(await rest.get(path));
const readIf = (rest: RestClient, path: string, tags: string, method = 'GET') =>
  rest.send(method, path, { headers: { 'if-none-match': tags } });

test('ETag - every response with one pet, category, order or inventory entry has a strong one, no other', async (t) => {
  const { rest } = t.context;
  for (const { operation, method, path, json } of await requestsTo(rest)) {
    const response = await rest.send(method, path, { json });
    t.regex(etagOf(response), operation.isTagged ? /^"[\w-]{22}"$/ : /^none$/, `${method} ${path}`);
    if (method === 'POST') t.is(etagOf(response), await tagAt(rest, `${path}/${response.body.id}`));
  }
  for (const error of [await rest.get('/pets/999999'), await rest.put('/pets/1', {})]) t.is(etagOf(error), 'none');
});

test('ETag - changes with the representation, and returns when the change is undone', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const path = `/pets/${await rest.pet({ categoryId, status: 'sold' })}`;
  const before = await tagAt(rest, path);
  const changes = [{ name: 'Tim' }, { status: 'pending' }, { categoryId: await rest.category() }];
  const tags = [before];
  for (const change of changes) tags.push(etagOf(await rest.patch(path, change)));
  t.is(new Set(tags).size, tags.length);
  t.is((await readIf(rest, path, before)).status, 200);
  t.is(etagOf(await rest.put(path, { name: ' Tom ', categoryId, status: 'sold' })), before);
  t.is((await readIf(rest, path, before)).status, 304);
});

test('ETag - GET /pets with exactly one of ids has that pet’s, absent pets and other lists have none', async (t) => {
  const { rest, grpc } = t.context;
  const [id, other] = [await rest.pet(), await rest.pet()];
  const tag = await tagAt(rest, `/pets/${id}`);
  for (const query of [`ids=${id}`, `%69ds=${id}&status=available`]) t.is(await tagAt(rest, `/pets?${query}`), tag);
  for (const query of ['ids=999999', `ids=${id}&status=sold`, `ids=${id}&ids=${other}`, `ids=${id}&ids=${id}`, '']) {
    const list = await readIf(rest, `/pets?${query}`, '*');
    t.deepEqual([list.status, etagOf(list)], [200, 'none'], query);
    t.is((await readIf(rest, `/pets?${query}`, 'no list')).status, /^ids=\d+(&s|$)/.test(query) ? 400 : 200);
  }
  const { headers } = await grpc.exchange(Pets.listPets, { ids: [BigInt(id)] });
  t.deepEqual(headers.get('etag'), [tag]);
  t.is((await rest.send('PATCH', `/pets/${id}`, { headers: { 'if-match': tag }, json: { name: 'Tim' } })).status, 200);
  t.is((await readIf(rest, `/pets?ids=${id}`, tag)).status, 200);
});

/** A read of one resource of each kind, and a list of exactly one pet. */
const reads = async (rest: RestClient) => [
  ...(await requestsTo(rest, ({ condition, isTagged }) => condition === 'if-none-match' && isTagged)),
  { path: `/pets?ids=${await rest.pet()}` },
];
/** Headers about a body, and those that differ from one request to the next. */
const VARYING = /^(connection|content-\w+|date|ratelimit|x-request-id|x-ratelimit-(remaining|reset))$/;
const lasting = ({ headers }: RestResponse) => [...headers].filter(([name]) => !VARYING.test(name));

test('If-None-Match - a 304 has the other headers of the 200: rate limits, deprecation, ETag', async (t) => {
  const { rest, publicAddress, key } = t.context;
  for (const { path } of await reads(rest)) {
    const full = await rest.get(path);
    const tag = etagOf(full);
    for (const [method, tags] of [
      ['GET', tag],
      ['HEAD', tag],
      ['GET', `"x", W/${tag}`],
      ['GET', '*'],
    ] as const) {
      const response = await readIf(rest, path, tags, method);
      t.like(response, { status: 304, text: '' }, `${method} ${path}`);
      t.deepEqual(lasting(response), lasting(full));
      t.true(response.headers.has('x-ratelimit-remaining') && !response.headers.has('content-length'));
    }
    const headers = { authorization: `Bearer ${key}`, 'if-none-match': tag };
    t.like(await http2(publicAddress, { method: 'GET', path, headers }), { status: 304, text: '' });
  }
});

type Write = Pick<TestRequest, 'method' | 'path'> & { readonly json?: object | undefined };

/** Every operation that supports If-Match, each on its own resource. */
const writes = (rest: RestClient) => requestsTo(rest, ({ condition }) => condition === 'if-match');

function send(rest: RestClient, { method, path, json }: Write, ifMatch: string): Promise<RestResponse> {
  return rest.send(method, path, { json, headers: { 'if-match': ifMatch } });
}

test('Conditions - a malformed or empty one is a 400 INVALID_ARGUMENT that names it', async (t) => {
  const { rest } = t.context;
  for (const list of ['', '*, "x"', '\u00e9']) {
    for (const { path } of await reads(rest)) isInvalid(t, await readIf(rest, path, list), 'If-None-Match');
    for (const write of await writes(rest)) {
      isInvalid(t, await send(rest, write, list), 'If-Match');
      t.is((await rest.get(write.path)).status, 200, list);
    }
  }
});

test('Conditions and Idempotency-Key - operations that do not take one ignore it', async (t) => {
  const { rest } = t.context;
  for (const { operation, method, path, json } of await requestsTo(rest)) {
    const { condition, takesIdempotencyKey } = operation;
    const all = Object.entries({ 'if-match': '"x"', 'if-none-match': '*', 'idempotency-key': 'a b' });
    const taken = [condition, takesIdempotencyKey ? 'idempotency-key' : undefined];
    const headers = Object.fromEntries(all.filter(([name]) => !taken.includes(name)));
    t.is((await rest.send(method, path, { json, headers })).status, operation.response.status, `${method} ${path}`);
  }
});

/** Asserts that a write is refused with a 412, and that nothing has changed. */
async function isPreconditionFailed(t: Test, write: Write, ifMatch: string): Promise<void> {
  const { rest } = t.context;
  const { body, headers } = await rest.get(write.path);
  const etag = `what is stored has the ETag ${headers.get('etag')} now`;
  const message = `${etag}, which If-Match does not name: read it again before you change it`;
  isError(t, await send(rest, write, ifMatch), 412, 'PRECONDITION_FAILED', message);
  t.deepEqual((await rest.get(write.path)).body, body);
}

test('If-Match - without the current tag is a 412 PRECONDITION_FAILED, and nothing changes', async (t) => {
  const { rest } = t.context;
  for (const write of await writes(rest)) {
    const tag = await tagAt(rest, write.path);
    for (const list of ['"x"', `W/${tag}`]) await isPreconditionFailed(t, write, list);
    const response = await send(rest, write, `"x", ${tag}`);
    t.is(response.status, write.method === 'DELETE' ? 204 : 200, `${write.method} ${write.path}`);
    t.is((await rest.get(write.path)).status, write.method === 'DELETE' ? 404 : 200);
  }
});

test('If-Match - * matches any existing resource', async (t) => {
  const { rest } = t.context;
  for (const write of await writes(rest)) {
    t.true((await send(rest, write, '*')).status < 300, write.path);
    const nowhere = { ...write, path: write.path.replace(/\d+$/, '999999') };
    const { status, body } = await rest.send(nowhere.method, nowhere.path, { json: nowhere.json });
    t.is(status, 404);
    for (const list of ['*', '"x"']) isError(t, await send(rest, nowhere, list), 404, body.code, body.message);
  }
});

test('If-Match - a 412 comes after a 400 for an invalid request and a 404, and before the other errors', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const petId = await rest.pet({ categoryId, stock: 1 });
  const pet = `/pets/${petId}`;
  const { id: open } = await rest.order({ petId });
  const { id: closed } = await rest.order({ complete: true });
  isInvalid(t, await send(rest, { method: 'PUT', path: pet, json: { name: '' } }, '"x"'), 'name', 'categoryId');
  isInvalid(t, await send(rest, { method: 'PATCH', path: `${pet}?colour=red`, json: {} }, '"x"'), 'colour');
  const nowhere = { name: 'Tom', categoryId: 999_999 };
  for (const [method, path, json, status, code] of [
    ['PUT', pet, nowhere, 400, 'UNKNOWN_CATEGORY'],
    ['PATCH', pet, nowhere, 400, 'UNKNOWN_CATEGORY'],
    ['DELETE', pet, undefined, 409, 'PET_IN_USE'],
    ['DELETE', `/categories/${categoryId}`, undefined, 409, 'CATEGORY_IN_USE'],
    ['PATCH', `/store/orders/${open}`, { quantity: 9 }, 409, 'INSUFFICIENT_STOCK'],
    ['PATCH', `/store/orders/${closed}`, { quantity: 9 }, 409, 'ORDER_COMPLETE'],
    ['DELETE', `/store/orders/${closed}`, undefined, 409, 'ORDER_COMPLETE'],
  ] as const) {
    await isPreconditionFailed(t, { method, path, json }, '"x"');
    isError(t, await send(rest, { method, path, json }, await tagAt(rest, path)), status, code);
  }
});

const ORDERS = '/store/orders';
let keys = 0;
const newKey = () => `key-${++keys}`;

/** Sends a POST with a key. A text is sent as it is. */
function post(rest: RestClient, path: string, key: string, body?: object | string, type = 'application/json') {
  const content = typeof body === 'string' ? { raw: body } : { json: body };
  const headers = { 'idempotency-key': key, ...(typeof body === 'string' ? { 'content-type': type } : {}) };
  return rest.send('POST', path, { ...content, headers });
}

/** What a replay repeats, and whether it says that it is one. */
const shown = ({ status, headers, text }: RestResponse, isReplay = headers.get('idempotency-replayed')) => ({
  ...{ status, text, isReplay, etag: headers.get('etag'), location: headers.get('location') },
});

/** Asserts that the second response is a replay of the first. */
function isReplayOf(t: Test, first: RestResponse, again: RestResponse, message?: string): void {
  t.is(first.headers.get('idempotency-replayed'), null);
  t.deepEqual(shown(again), shown(first, 'true'), message);
}

test('Idempotency-Key - the same request gets the same response, with Idempotency-Replayed: true', async (t) => {
  const { rest } = t.context;
  const creates = await requestsTo(rest, ({ takesIdempotencyKey }) => takesIdempotencyKey);
  for (const { path, json } of [...creates, { path: ORDERS, json: undefined }]) {
    const key = newKey();
    const first = await post(rest, path, key, json);
    for (const _ of [1, 2]) isReplayOf(t, first, await post(rest, path, key, json), path);
  }
});

test('Idempotency-Key - a replay is the original response, also after a change or deletion', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const [json, key] = [{ petId, quantity: 2 }, newKey()];
  const first = await post(rest, ORDERS, key, json);
  const path = `${ORDERS}/${first.body.id}`;
  for (const change of [
    () => rest.get(path),
    () => rest.patch(path, { quantity: 4 }),
    () => rest.delete(path),
    () => rest.delete(`/pets/${petId}`),
  ]) {
    await change();
    isReplayOf(t, first, await post(rest, ORDERS, key, json));
  }
  isError(t, await rest.get(path), 404, 'ORDER_NOT_FOUND');
});

test('Idempotency-Key - another request with it is 409 IDEMPOTENCY_KEY_REUSED, an invalid one a 400', async (t) => {
  const { rest } = t.context;
  const key = newKey();
  const first = await post(rest, '/categories', key, { name: 'Cats' });
  isError(t, await post(rest, '/categories', key, { name: 'Dogs' }), 409, 'IDEMPOTENCY_KEY_REUSED', /new key/);
  isError(t, await post(rest, '/categories', key, { name: 7 }), 400, 'INVALID_ARGUMENT');
  isError(t, await post(rest, '/categories', key, '{'), 400, 'MALFORMED_BODY');
  isReplayOf(t, first, await post(rest, '/categories', key, { name: 'Cats' }));
});

test('Idempotency-Key - only a success is stored: after an error the key is free for any request', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 1 });
  const order = (json: object) => post(rest, ORDERS, 'only-a-success', json);
  isError(t, await order({ petId, quantity: 2 }), 409, 'INSUFFICIENT_STOCK');
  isError(t, await order({ petId: 999_999 }), 400, 'UNKNOWN_PET');
  await rest.put(`/store/inventory/${petId}`, { quantity: 5 });
  isReplayOf(t, await order({ petId, quantity: 2 }), await order({ petId, quantity: 2 }));
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 3);
});

test('Idempotency-Key - is per account and operation', async (t) => {
  const { rest, operator } = t.context;
  const { id: account } = await operator.account({ perMinute: 1_000, perDay: 1_000 });
  const newCaller = async () => rest.withKey((await operator.key(account)).key);
  const [one, same] = [await newCaller(), await newCaller()];
  const [key, json] = [newKey(), { name: 'Cats' }];
  const mine = await post(rest, '/categories', key, json);
  const theirs = await post(one, '/categories', key, json);
  t.not(theirs.body.id, mine.body.id, 'another account');
  isReplayOf(t, theirs, await post(same, '/categories', key, json), 'another key of the account');
  t.like(shown(await post(rest, ORDERS, key)), { status: 201, isReplay: null }, 'another operation');
});

test('Idempotency-Key - is 1 to 255 visible ASCII characters without a comma, else a 400 with its name', async (t) => {
  const { rest, publicAddress, key } = t.context;
  const head = `POST ${ORDERS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: 0\r\n`;
  const malformed = ['', 'a b', 'a,b', ',', 'x'.repeat(256), 'x'.repeat(2_000), 'caf\u00e9'].map((one) => [one]);
  for (const sent of [...malformed, ['a', 'b'], ['a', 'a'], ['\u00e9', 'a']]) {
    const lines = sent.map((one) => `Idempotency-Key: ${one}\r\n`).join('');
    isInvalid(t, await http1(publicAddress, Buffer.from(`${head}${lines}\r\n`, 'latin1')), 'Idempotency-Key');
  }
  const visible = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));
  const allowed = visible.filter((character) => character !== ',').join('');
  for (const one of [...allowed, allowed, 'x'.repeat(255)]) t.is((await post(rest, ORDERS, one)).status, 201, one);
});

test('The same request - white space, field order, unknown fields, numbers in strings do not matter', async (t) => {
  const { rest } = t.context;
  const key = newKey();
  const first = '{"petId":null,"quantity":3,"shipDate":"2027-01-02T03:04:05Z","complete":false}';
  const placed = await post(rest, ORDERS, key, first);
  for (const raw of [
    ' { "quantity" : 3 ,\n\t"shipDate":"2027-01-02T03:04:05Z", "complete":false } ',
    '{"colour":"red","complete":false,"shipDate":"2027-01-02T03:04:05Z","quantity":3,"more":{"a":[1]}}',
    '{"quantity":"3","complete":false,"shipDate":"2027-01-02T03:04:05.000Z"}',
    '{"quantity":3.0,"complete":false,"ship_date":"2027-01-02T04:04:05+01:00"}',
  ]) {
    isReplayOf(t, placed, await post(rest, ORDERS, key, raw), raw);
  }
  isReplayOf(t, placed, await post(rest, ORDERS, key, first, 'application/json; charset=utf-8'));
  isError(t, await post(rest, ORDERS, key, '{"quantity":3}'), 409, 'IDEMPOTENCY_KEY_REUSED'); // an absent field
});

test('The same request - REST and gRPC share the keys, on the public port and on the private one', async (t) => {
  const { rest, key, grpc, grpcAddress } = t.context;
  const petId = await rest.pet({ stock: 9 });
  const json = { petId, quantity: 2, shipDate: '2027-01-02T03:04:05.5Z', complete: true };
  const shipDate = { seconds: 1_798_859_045n, nanos: 500_000_000 };
  const order = { petId: BigInt(petId), quantity: 2, shipDate, complete: true };
  const direct = new GrpcCaller(grpcAddress, key);
  for (const caller of [grpc, direct]) {
    const [restFirst, grpcFirst] = [newKey(), newKey()];
    const place = (name: string) =>
      caller.exchange(Orders.placeOrder, { order }, { metadata: { 'idempotency-key': name } });
    const placed = await post(rest, ORDERS, restFirst, json);
    const replayed = await place(restFirst);
    t.is(Number(replayed.message.id), placed.body.id);
    t.deepEqual(replayed.headers.get('idempotency-replayed'), ['true']);
    t.deepEqual(replayed.headers.get('etag'), [etagOf(placed)]);

    const { message } = await place(grpcFirst);
    const again = await post(rest, ORDERS, grpcFirst, json);
    t.deepEqual([again.status, again.body.id], [201, Number(message.id)]);
    t.like(shown(again), { isReplay: 'true', location: `${ORDERS}/${message.id}` });
  }
  direct.close();
});
