import anyTest, { type TestFn } from 'ava';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test('FOO /pets - an unknown method is a 405, and without a key a 401', async (t) => {
  for (const method of ['FOO', 'PROPFIND', 'QUERY']) {
    const json = method === 'QUERY' ? {} : undefined; // Envoy itself refuses a QUERY that has no content type
    const { status, headers, body } = await t.context.rest.send(method, '/pets/1', { json });
    t.is(status, 405, method);
    t.is(headers.get('allow'), 'DELETE, GET, HEAD, PATCH, PUT');
    t.is(body.code, 'METHOD_NOT_ALLOWED');
    t.is((await t.context.rest.withKey(undefined).send(method, '/pets/1', { json })).status, 401);
  }
});
