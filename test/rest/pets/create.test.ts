import anyTest, { type TestFn } from 'ava';
import { isError, isInvalid } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test('POST /pets - returns 201 with the pet and its Location', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const { status, headers, body } = await rest.post('/pets', { name: 'Tom', categoryId, status: 'pending' });
  t.is(status, 201);
  t.is(headers.get('location'), `/pets/${body.id}`);
  t.deepEqual(body, { id: body.id, name: 'Tom', categoryId, status: 'pending' });
  t.deepEqual((await rest.get(`/pets/${body.id}`)).body, body);
});

test('POST /pets - the Location is the path of the pet, for every notation of the request path', async (t) => {
  const { rest } = t.context;
  const json = { name: 'Tom', categoryId: await rest.category() };
  for (const path of ['/pets/', '/pets?', '/pets/?', '/%70ets']) {
    const { status, headers, body } = await rest.post(path, json);
    t.is(status, 201, path);
    t.is(headers.get('location'), `/pets/${body.id}`, path);
  }
});

test('POST /pets - an absent status becomes available', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  t.is((await rest.post('/pets', { name: 'Tom', categoryId })).body.status, 'available');
  t.is((await rest.post('/pets', { name: 'Tom', categoryId, status: null })).body.status, 'available');
});

test('POST /pets - creates an inventory entry with quantity 0 and the status of the pet', async (t) => {
  const { rest } = t.context;
  for (const status of ['available', 'pending', 'sold']) {
    const petId = await rest.pet({ status });
    t.deepEqual((await rest.get(`/store/inventory/${petId}`)).body, { petId, quantity: 0, status });
  }
});

test('POST /pets - a category that does not exist is 400 UNKNOWN_CATEGORY', async (t) => {
  const { rest } = t.context;
  for (const categoryId of [999_999, 0, -1]) {
    const response = await rest.post('/pets', { name: 'Tom', categoryId });
    isError(t, response, 400, 'UNKNOWN_CATEGORY', `categoryId: category ${categoryId} does not exist`);
  }
});

test('POST /pets - a 400 names every field with a violation', async (t) => {
  const { rest } = t.context;
  isInvalid(t, await rest.post('/pets', {}), 'name', 'categoryId');
  isInvalid(t, await rest.post('/pets'), 'name', 'categoryId');
  const broken = { name: ' ', status: 'PET_STATUS_UNSPECIFIED' };
  isInvalid(t, await rest.post('/pets', broken), 'name', 'categoryId', 'status');
});
