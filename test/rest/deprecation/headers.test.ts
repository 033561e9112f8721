import anyTest, { type TestFn } from 'ava';
import { isError } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const NAMES = ['deprecation', 'sunset', 'link'] as const;

test('GET /pets/{petId} - announces its deprecation, its sunset and its successor, on 200 and on 404', async (t) => {
  const { rest } = t.context;
  const id = await rest.pet();
  for (const [petId, status] of [
    [id, 200],
    [999_999, 404],
    [0, 404],
    ['9223372036854775807', 404],
    [-1, 404],
  ] as const) {
    for (const method of ['GET', 'HEAD']) {
      for (const path of [`/pets/${petId}`, `/pets/${petId}/`]) {
        const response = await rest.send(method, path);
        t.is(response.status, status);
        t.is(response.headers.get('deprecation'), '@1782864000');
        t.is(response.headers.get('sunset'), 'Fri, 31 Dec 2027 23:59:59 GMT');
        t.is(response.headers.get('link'), `</pets?ids=${petId}>; rel="successor-version"`);
      }
    }
  }
});

test('GET /pets/{petId} - the dates are 2026-07-01 and 2027-12-31T23:59:59Z', (t) => {
  t.is(Date.parse('2026-07-01T00:00:00Z') / 1_000, 1_782_864_000);
  t.is(Date.parse('Fri, 31 Dec 2027 23:59:59 GMT'), Date.parse('2027-12-31T23:59:59Z'));
});

test('GET /pets/{petId} - its successor returns the same pet', async (t) => {
  const { rest } = t.context;
  const id = await rest.pet();
  const { headers, body } = await rest.get(`/pets/${id}`);
  const successor = /^<(.*)>; rel="successor-version"$/.exec(headers.get('link') ?? '')?.[1] ?? '';
  const found = await rest.get(successor);
  t.is(found.status, 200);
  t.deepEqual(found.body, [body]);
});

test('deprecation - no other operation announces one', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const id = await rest.pet({ categoryId });
  const { id: orderId } = await rest.order();
  const pet = { name: 'Tom', categoryId };
  const responses = [
    await rest.get('/pets?limit=100'),
    await rest.get(`/pets?ids=${id}`),
    await rest.post('/pets', pet),
    await rest.put(`/pets/${id}`, pet),
    await rest.patch(`/pets/${id}`, {}),
    await rest.put('/pets/999999', pet),
    await rest.get('/categories?limit=100'),
    await rest.get(`/categories/${categoryId}`),
    await rest.get('/store/orders?limit=100'),
    await rest.get(`/store/orders/${orderId}`),
    await rest.get('/store/inventory?limit=100'),
    await rest.get(`/store/inventory/${id}`),
    await rest.delete(`/pets/${id}`),
    await rest.get('/nope'),
    await rest.send('OPTIONS', `/pets/${id}`),
    await rest.withKey(undefined).get(`/pets/${id}`),
  ];
  for (const { headers, text } of responses) {
    for (const name of NAMES) t.false(headers.has(name), text);
  }
});

test('GET /pets/{petId} - a malformed id is a 400 without the announcement', async (t) => {
  const response = await t.context.rest.get('/pets/abc');
  isError(t, response, 400, 'INVALID_ARGUMENT');
  for (const name of NAMES) t.false(response.headers.has(name), name);
});
