import anyTest, { type TestFn } from 'ava';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test('POST /pets - answers 201 with the pet and its Location', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const { status, headers, body } = await rest.post('/pets', { name: 'Tom', categoryId, status: 'pending' });
  t.is(status, 201);
  t.is(headers.get('location'), `/pets/${body.id}`);
  t.deepEqual(body, { id: body.id, name: 'Tom', categoryId, status: 'pending' });
});

test('POST /pets - an absent status becomes available', async (t) => {
  const { rest } = t.context;
  const { body } = await rest.post('/pets', { name: 'Tom', categoryId: await rest.category() });
  t.is(body.status, 'available');
});

test('POST /pets - a category that does not exist is 400 UNKNOWN_CATEGORY', async (t) => {
  const { rest } = t.context;
  for (const categoryId of [999_999, 0, -1]) {
    const { status, body } = await rest.post('/pets', { name: 'Tom', categoryId });
    t.is(status, 400);
    t.deepEqual(body, {
      code: 'UNKNOWN_CATEGORY',
      message: `categoryId: category ${categoryId} does not exist`,
      status: 400,
    });
  }
});

test('POST /pets - a 400 names every field that broke a rule', async (t) => {
  const { rest } = t.context;
  const { status, body } = await rest.post('/pets', { name: ' ', status: 'PET_STATUS_UNSPECIFIED' });
  t.is(status, 400);
  t.is(body.code, 'INVALID_ARGUMENT');
  for (const name of ['name', 'categoryId', 'status']) t.regex(body.message, new RegExp(`\\b${name}: `));
});
