import anyTest, { type TestFn } from 'ava';
import { isError, isInvalid } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test('POST /categories - returns 201 with the category and its Location', async (t) => {
  const { rest } = t.context;
  const { status, headers, body } = await rest.post('/categories', { name: 'Cats', description: 'Small felines' });
  t.is(status, 201);
  t.is(headers.get('location'), `/categories/${body.id}`);
  t.deepEqual(body, { id: body.id, name: 'Cats', description: 'Small felines' });
  t.deepEqual((await rest.get(`/categories/${body.id}`)).body, body);
});

test('POST /categories - two categories can have the same name', async (t) => {
  const { rest } = t.context;
  t.not(await rest.category('Twins'), await rest.category('Twins'));
});

test('POST /categories - a 400 names every field with a violation', async (t) => {
  const { rest } = t.context;
  isInvalid(t, await rest.post('/categories', {}), 'name');
  isInvalid(t, await rest.post('/categories'), 'name');
  isInvalid(t, await rest.post('/categories', { name: '', description: 'x'.repeat(2_001) }), 'name', 'description');
});

test('GET /categories - returns a bare array of categories in ascending order of id', async (t) => {
  const { rest } = t.context;
  const first = await rest.category('Birds');
  const second = (await rest.post('/categories', { name: 'Fish', description: '' })).body.id;
  const { status, headers, body } = await rest.get('/categories?limit=100');
  t.is(status, 200);
  t.is(headers.get('content-type'), 'application/json');
  const ids: number[] = body.map(({ id }: { id: number }) => id);
  t.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  );
  t.deepEqual(body[ids.indexOf(first)], { id: first, name: 'Birds' });
  t.deepEqual(body[ids.indexOf(second)], { id: second, name: 'Fish', description: '' });
});

test('GET /categories/{categoryId} - returns the category', async (t) => {
  const { rest } = t.context;
  const id = await rest.category('Cats');
  const { status, body } = await rest.get(`/categories/${id}/`);
  t.is(status, 200);
  t.deepEqual(body, { id, name: 'Cats' });
});

test('PUT /categories/{categoryId} - replaces every field: an absent description is removed', async (t) => {
  const { rest } = t.context;
  const { id } = (await rest.post('/categories', { name: 'Cats', description: 'Small felines' })).body;
  const { status, body } = await rest.put(`/categories/${id}`, { name: 'Dogs' });
  t.is(status, 200);
  t.deepEqual(body, { id, name: 'Dogs' });
  t.deepEqual((await rest.get(`/categories/${id}`)).body, body);
  isInvalid(t, await rest.put(`/categories/${id}`, { description: 'nameless' }), 'name');
  t.deepEqual((await rest.get(`/categories/${id}`)).body, body);
});

test('PATCH /categories/{categoryId} - changes only the fields in the body', async (t) => {
  const { rest } = t.context;
  const { id } = (await rest.post('/categories', { name: 'Cats', description: 'Small felines' })).body;
  let expected = { id, name: 'Cats', description: 'Small felines' };
  for (const patch of [{ name: 'Dogs' }, { description: 'Loyal' }, {}, { description: '' }]) {
    expected = { ...expected, ...patch };
    const { status, body } = await rest.patch(`/categories/${id}`, patch);
    t.is(status, 200);
    t.deepEqual(body, expected);
  }
  t.deepEqual((await rest.patch(`/categories/${id}`)).body, expected);
  t.deepEqual((await rest.get(`/categories/${id}`)).body, expected);
  isInvalid(t, await rest.patch(`/categories/${id}`, { name: ' ' }), 'name');
});

test('DELETE /categories/{categoryId} - is 409 CATEGORY_IN_USE while a pet is in it', async (t) => {
  const { rest } = t.context;
  const [used, other] = [await rest.category(), await rest.category()];
  const [gone, moved] = [await rest.pet({ categoryId: used }), await rest.pet({ categoryId: used })];
  const message = `category ${used} still has pets: move or delete them first`;
  isError(t, await rest.delete(`/categories/${used}`), 409, 'CATEGORY_IN_USE', message);
  await rest.delete(`/pets/${gone}`);
  isError(t, await rest.delete(`/categories/${used}`), 409, 'CATEGORY_IN_USE', message);
  t.is((await rest.get(`/categories/${used}`)).status, 200);
  await rest.patch(`/pets/${moved}`, { categoryId: other });
  t.is((await rest.delete(`/categories/${used}`)).status, 204);
});
