import anyTest, { type TestFn } from 'ava';
import { isError } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => {
  t.context.stack.servers[0].process.kill('SIGCONT');
  return t.context.close();
});

test('504 - requests that the server took and does not answer are DEADLINE_EXCEEDED, for a HEAD too', async (t) => {
  const { rest, stack } = t.context;
  const id = await rest.category();
  await Promise.all(Array.from({ length: 4 }, () => rest.get('/categories'))); // connections are open
  stack.servers[0].process.kill('SIGSTOP');
  const [read, change, head] = await Promise.all([
    rest.get(`/categories/${id}`),
    rest.post('/categories', { name: 'Dogs' }),
    rest.send('HEAD', `/categories/${id}`),
  ]);
  for (const response of [read, change]) {
    isError(t, response, 504, 'DEADLINE_EXCEEDED', 'the request was not answered in time');
    t.false(response.headers.has('location'));
  }
  t.is(head.status, 504);
});
