import anyTest, { type TestFn } from 'ava';
import { isError } from '../../support/contract.ts';
import type { RestClient, RestResponse } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { until } from '../../support/until.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

/** Repeats the request until the response has this status. */
function untilStatus(rest: RestClient, path: string, status: number): Promise<RestResponse> {
  const look = async () => {
    const response = await rest.get(path);
    return response.status === status && response;
  };
  return until(look, `GET ${path} ${status}`);
}

test.serial('/healthz - is 200 without a key, with an empty body, whatever the method', async (t) => {
  const anonymous = t.context.rest.withKey(undefined);
  for (const method of ['GET', 'HEAD', 'POST']) {
    const { status, text, headers } = await anonymous.send(method, '/healthz');
    t.is(status, 200);
    t.is(text, '');
    t.false(headers.has('retry-after'));
  }
  t.is((await t.context.rest.get('/healthz')).status, 200);
});

test.serial(
  '503 - while no server accepts calls, every request is UNAVAILABLE with Retry-After, until one does',
  async (t) => {
    const { rest, stack } = t.context;
    const anonymous = rest.withKey(undefined);
    const id = await rest.category();
    const json = { 'content-type': 'application/json' };
    stack.servers[0]?.send('drain');
    const onAllThreads = async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => anonymous.get('/healthz')));
      return responses.every(({ status }) => status === 503);
    };
    await until(onAllThreads, 'the change at all threads of Envoy');

    const health = await anonymous.get('/healthz');
    isError(t, health, 503, 'UNAVAILABLE');
    const refused: RestResponse[] = [
      await rest.get('/categories'),
      await rest.get(`/categories/${id}`),
      await rest.post('/categories', { name: 'Dogs' }),
      await rest.put(`/categories/${id}`, { name: 'Dogs' }),
      await rest.delete(`/categories/${id}`),
      await anonymous.get('/categories'), // without a server no caller is authenticated
      await rest.get('/nope'),
      await rest.delete('/categories'),
      await rest.get('/pets/abc'),
      await rest.get('/pets?limit=abc'),
      await rest.send('POST', '/categories', { raw: '{', headers: json }),
      await rest.send('POST', '/categories', { raw: '{"name":"x",}', headers: json }),
      await rest.send('POST', '/categories', { raw: 'a=b', headers: { 'content-type': 'text/plain' } }),
      await rest.send('POST', '/categories', { raw: ' '.repeat(1_048_577), headers: json }),
      await anonymous.send('POST', '/nope', { raw: ' '.repeat(5_000_000), headers: json }),
    ];
    const message = 'the service is not available just now; try again shortly';
    for (const response of [health, ...refused]) {
      isError(t, response, 503, 'UNAVAILABLE', message);
      t.is(response.headers.get('retry-after'), '1');
      t.false(response.headers.has('allow') || response.headers.has('www-authenticate'));
    }
    const head = await rest.send('HEAD', '/categories');
    t.is(head.status, 503);
    t.is(head.headers.get('retry-after'), '1');

    stack.servers[0]?.process.kill('SIGKILL'); // the launcher starts another one
    await untilStatus(anonymous, '/healthz', 200);
    // Each thread of Envoy detects the server at a different time.
    const { body } = await untilStatus(rest, `/categories/${id}`, 200);
    t.deepEqual(body, { id, name: 'Cats' }); // no refused request had an effect
    isError(t, await untilStatus(rest, '/nope', 404), 404, 'ROUTE_NOT_FOUND');
    isError(t, await untilStatus(anonymous, '/categories', 401), 401, 'API_KEY_MISSING');
  },
);
