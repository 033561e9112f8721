/**
 * Third-party tools: openapi-typescript generates gen/openapi/types.ts from the description, openapi-fetch calls the
 * service with these types. Half of the test is that this file compiles under `--strict`.
 */
import anyTest, { type TestFn } from 'ava';
import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from '../../../gen/openapi/types.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack & { client: Client<paths> }>;

test.before(async (t) => {
  const stack = await startTestStack();
  const headers = { authorization: `Bearer ${stack.key}` };
  t.context = { ...stack, client: createClient<paths>({ baseUrl: `http://${stack.publicAddress}`, headers }) };
});
test.after.always((t) => t.context.close());

test('openapi-fetch - creates, lists, changes and deletes with types from the description', async (t) => {
  const { client } = t.context;
  const { data: category } = await client.POST('/categories', { body: { name: 'Cats' } });
  const categoryId: number = category?.id ?? 0;
  const { data: pet, response } = await client.POST('/pets', { body: { name: 'Tom', categoryId } });
  const created: components['schemas']['Pet'] | undefined = pet;
  t.is(created?.status, 'available');
  t.is(response.headers.get('location'), `/pets/${created?.id}`);

  const { data: pets } = await client.GET('/pets', {
    params: { query: { categoryId, status: 'available', limit: 5 } },
  });
  t.deepEqual(pets, [{ id: created?.id ?? 0, name: 'Tom', categoryId, status: 'available' }]);
  const { data: chosen } = await client.GET('/pets', { params: { query: { ids: [created?.id ?? 0, 999_999] } } });
  t.deepEqual(chosen, pets);

  const params = { path: { petId: created?.id ?? 0 } };
  t.is((await client.PATCH('/pets/{petId}', { params, body: { name: 'Tim' } })).data?.name, 'Tim');
  t.is((await client.DELETE('/pets/{petId}', { params })).response.status, 204);
});

test('openapi-fetch - an error is typed, with a code that may be a new one', async (t) => {
  const { client } = t.context;
  const { error, data } = await client.GET('/store/orders/{orderId}', { params: { path: { orderId: 999_999 } } });
  t.is(data, undefined);
  const { code, status }: components['schemas']['ErrorBody'] = error ?? { code: '', message: '', status: 0 };
  t.deepEqual({ code, status }, { code: 'ORDER_NOT_FOUND', status: 404 });
  const isOpen: string extends typeof code ? true : false = true;
  t.true(isOpen);
});

test('openapi-fetch - a call that violates the description does not compile', async (t) => {
  const { client } = t.context;
  // @ts-expect-error: a pet needs a category
  t.is((await client.POST('/pets', { body: { name: 'Tom' } })).error?.status, 400);
  // @ts-expect-error: no such status
  t.is((await client.GET('/pets', { params: { query: { status: 'gone' } } })).error?.status, 400);
  // @ts-expect-error: no such operation
  t.is((await client.PUT('/pets')).response.status, 405);
});
