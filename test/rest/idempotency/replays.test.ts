/** Repeated requests with an idempotency key: the same response, and no other effect. */
import anyTest, { type TestFn } from 'ava';
import { isError } from '../../support/contract.ts';
import { withinOneDay } from '../../support/limit-windows.ts';
import { connectOperator } from '../../support/operator.ts';
import { requestsTo } from '../../support/resources.ts';
import type { RestResponse } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

let keys = 0;
const newKey = () => `key-${++keys}`;

function isReplayOf(first: RestResponse, again: RestResponse): boolean {
  const isFirst = first.headers.get('idempotency-replayed') === null;
  return isFirst && again.headers.get('idempotency-replayed') === 'true';
}

test('Idempotency-Key - the same request gets the same response, with Idempotency-Replayed: true', async (t) => {
  const { rest } = t.context;
  const creates = await requestsTo(rest, ({ takesIdempotencyKey }) => takesIdempotencyKey);
  const order = { petId: await rest.pet({ stock: 50 }), quantity: 2, shipDate: '2027-01-02T03:04:05Z' };
  for (const [path, json] of [
    ...creates.map(({ path, json }) => [path, json] as const),
    ['/store/orders', order] as const,
    ['/store/orders', undefined] as const,
  ]) {
    const headers = { 'idempotency-key': newKey() };
    const first = await rest.send('POST', path, { json, headers });
    t.is(first.status, 201);
    for (const _ of [1, 2]) {
      const again = await rest.send('POST', path, { json, headers });
      t.true(isReplayOf(first, again));
      t.is(again.status, 201);
      t.is(again.text, first.text);
      for (const name of ['location', 'etag']) t.is(again.headers.get(name), first.headers.get(name));
      t.truthy(again.headers.get('etag'));
      t.is(again.headers.get('content-type'), 'application/json');
    }
  }
});

test('Idempotency-Key - a replay creates nothing and changes no stock', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const request = { json: { petId, quantity: 2 }, headers: { 'idempotency-key': newKey() } };
  for (const _ of [1, 2, 3]) t.is((await rest.send('POST', '/store/orders', request)).status, 201);
  t.is((await rest.get(`/store/orders?petId=${petId}`)).body.length, 1);
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 3);
});

test('Idempotency-Key - a replay is the original response, also after a change or deletion', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const request = { json: { petId, quantity: 2 }, headers: { 'idempotency-key': newKey() } };
  const first = await rest.send('POST', '/store/orders', request);
  await rest.patch(`/store/orders/${first.body.id}`, { quantity: 4 });
  const changed = await rest.send('POST', '/store/orders', request);
  t.is(changed.text, first.text);
  t.is(changed.headers.get('etag'), first.headers.get('etag'));
  t.not(changed.headers.get('etag'), (await rest.get(`/store/orders/${first.body.id}`)).headers.get('etag'));
  await rest.delete(`/store/orders/${first.body.id}`);
  t.is((await rest.send('POST', '/store/orders', request)).text, first.text);
  await rest.delete(`/pets/${petId}`);
  const last = await rest.send('POST', '/store/orders', request);
  t.true(isReplayOf(first, last));
  t.is(last.text, first.text);
  isError(t, await rest.get(`/store/orders/${first.body.id}`), 404, 'ORDER_NOT_FOUND');
});

test('Idempotency-Key - another request with it is 409 IDEMPOTENCY_KEY_REUSED, an invalid one a 400', async (t) => {
  const { rest } = t.context;
  const headers = { 'idempotency-key': newKey() };
  const first = await rest.send('POST', '/categories', { json: { name: 'Cats' }, headers });
  const other = await rest.send('POST', '/categories', { json: { name: 'Dogs' }, headers });
  isError(t, other, 409, 'IDEMPOTENCY_KEY_REUSED', /new key/);
  t.false(other.headers.has('idempotency-replayed'));
  isError(t, await rest.send('POST', '/categories', { json: {}, headers }), 400, 'INVALID_ARGUMENT');
  isError(t, await rest.send('POST', '/categories', { json: { name: 7 }, headers }), 400, 'INVALID_ARGUMENT');
  const raw = { raw: '{', headers: { ...headers, 'content-type': 'application/json' } };
  isError(t, await rest.send('POST', '/categories', raw), 400, 'MALFORMED_BODY');
  t.true(isReplayOf(first, await rest.send('POST', '/categories', { json: { name: 'Cats' }, headers })));
});

test('Idempotency-Key - only a success is stored: after an error the key is free for any request', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 1 });
  const headers = { 'idempotency-key': newKey() };
  const order = (json: object) => rest.send('POST', '/store/orders', { json, headers });
  isError(t, await order({ petId, quantity: 2 }), 409, 'INSUFFICIENT_STOCK');
  isError(t, await order({ petId: 999_999 }), 400, 'UNKNOWN_PET');
  isError(t, await order({ quantity: 0 }), 400, 'INVALID_ARGUMENT');
  await rest.put(`/store/inventory/${petId}`, { quantity: 5 });
  const placed = await order({ petId, quantity: 2 });
  t.is(placed.status, 201);
  t.true(isReplayOf(placed, await order({ petId, quantity: 2 })));
  t.is((await rest.get(`/store/inventory/${petId}`)).body.quantity, 3);
});

test('Idempotency-Key - is per account and operation', async (t) => {
  const { rest } = t.context;
  const operator = await connectOperator(t.context);
  const account = await operator.account({ perMinute: 1_000, perDay: 1_000 });
  const [one, same] = [(await operator.key(account.id)).key, (await operator.key(account.id)).key];
  operator.close();
  const request = { json: { name: 'Cats' }, headers: { 'idempotency-key': newKey() } };
  const mine = await rest.send('POST', '/categories', request);
  const theirs = await rest.withKey(one).send('POST', '/categories', request);
  t.false(theirs.headers.has('idempotency-replayed'), 'another account');
  t.not(theirs.body.id, mine.body.id);
  const again = await rest.withKey(same).send('POST', '/categories', request);
  t.true(isReplayOf(theirs, again), 'another API key of the same account');
  t.is(again.text, theirs.text);
  const order = await rest.send('POST', '/store/orders', { headers: request.headers });
  t.is(order.status, 201);
  t.false(order.headers.has('idempotency-replayed'), 'another operation');
});

test('Idempotency-Key - of concurrent requests with one key one runs, and all get its response', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 1 });
  const request = { json: { petId }, headers: { 'idempotency-key': newKey() } };
  const responses = await Promise.all(Array.from({ length: 30 }, () => rest.send('POST', '/store/orders', request)));
  t.deepEqual([...new Set(responses.map(({ status }) => status))], [201]);
  t.is(new Set(responses.map(({ text }) => text)).size, 1);
  t.is(responses.filter(({ headers }) => headers.has('idempotency-replayed')).length, 29);
  t.is((await rest.get(`/store/orders?petId=${petId}`)).body.length, 1);
});

test('Idempotency-Key - a replay counts against the limits like any request, and is refused beyond them', async (t) => {
  await withinOneDay(20_000);
  const { rest } = t.context;
  const operator = await connectOperator(t.context);
  const caller = rest.withKey(await operator.keyOf({ perMinute: 1_000, perDay: 4 }));
  operator.close();
  const request = { json: { name: 'Cats' }, headers: { 'idempotency-key': newKey() } };
  for (const remaining of ['3', '2', '1', '0']) {
    const { status, headers } = await caller.send('POST', '/categories', request);
    t.is(status, 201);
    t.is(headers.get('x-ratelimit-remaining'), remaining);
  }
  isError(t, await caller.send('POST', '/categories', request), 429, 'RATE_LIMITED');
  const anonymous = await rest.withKey(undefined).send('POST', '/categories', request);
  isError(t, anonymous, 401, 'API_KEY_MISSING');
});
