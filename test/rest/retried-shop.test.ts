/** What is the shop's own of retrying.test.ts: which error comes first, one of several ids, spellings of an order. */
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import type { RestClient } from '../support/calls/rest-client.ts';
import { isError, isInvalid } from '../support/contract/errors.ts';
import { etagOf, isReplayOf, newKey, readIf, sendIf, tagAt } from '../support/contract/retries.ts';
import { stackTest } from '../support/service/shared-stack.ts';

const test = stackTest();

const ORDERS = '/store/orders';

/** Sends a POST with a key. A text is sent as it is. */
function post(rest: RestClient, path: string, key: string, body?: object | string, type = 'application/json') {
  const content = typeof body === 'string' ? { raw: body } : { json: body };
  const headers = { 'idempotency-key': key, ...(typeof body === 'string' ? { 'content-type': type } : {}) };
  return rest.send('POST', path, { ...content, headers });
}

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

test('If-Match - a 412 comes after a 400 for an invalid request and a 404, and before the other errors', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const petId = await rest.pet({ categoryId, stock: 1 });
  const pet = `/pets/${petId}`;
  const { id: open } = await rest.order({ petId });
  const { id: closed } = await rest.order({ complete: true });
  isInvalid(t, await sendIf(rest, { method: 'PUT', path: pet, json: { name: '' } }, '"x"'), 'name', 'categoryId');
  isInvalid(t, await sendIf(rest, { method: 'PATCH', path: `${pet}?colour=red`, json: {} }, '"x"'), 'colour');
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
    isError(t, await sendIf(rest, { method, path, json }, '"x"'), 412, 'PRECONDITION_FAILED');
    isError(t, await sendIf(rest, { method, path, json }, await tagAt(rest, path)), status, code);
  }
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
