import { fileURLToPath } from 'node:url';
import anyTest, { type TestFn } from 'ava';
import { isError } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

const MUTE_SERVER = fileURLToPath(new URL('../../support/mute-server.ts', import.meta.url));

test.before(async (t) => {
  t.context = await startTestStack({}, { program: MUTE_SERVER });
});
test.after.always((t) => t.context.close());

test.serial('504 - over Connect it is deadline_exceeded', async (t) => {
  const response = await fetch(`${t.context.rest.url}/petstore.v1.PetService/ListPets`, {
    method: 'POST',
    headers: { 'content-type': 'application/proto', authorization: 'Bearer none' },
  });
  t.is(response.status, 504);
  t.like(await response.json(), { code: 'deadline_exceeded', message: 'the request was not answered in time' });
});

test.serial('504 - accepted requests without a response in time are DEADLINE_EXCEEDED, also for HEAD', async (t) => {
  const { rest } = t.context;
  const [read, change, head] = await Promise.all([
    rest.get('/categories/1'),
    rest.post('/categories', { name: 'Dogs' }),
    rest.send('HEAD', '/categories/1'),
  ]);
  for (const response of [read, change]) {
    isError(t, response, 504, 'DEADLINE_EXCEEDED', 'the request was not answered in time');
    t.false(response.headers.has('location'));
  }
  t.is(head.status, 504);
});

test.serial(
  '503 - a crash of the server during its response is UNAVAILABLE, without parts of that response',
  async (t) => {
    const response = await t.context.rest.get('/store/inventory');
    isError(t, response, 503, 'UNAVAILABLE', 'the service is not available just now; try again shortly');
    t.is(response.headers.get('retry-after'), '1');
  },
);
