/** When the service has no server: refusals with Retry-After, and health checks that are right. */
import type { RestClient, RestResponse } from '../support/calls/rest-client.ts';
import { isError, isUnavailable } from '../support/contract/errors.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import { until } from '../support/until.ts';

const test = stackTest();

/** Repeats the request until the response has this status. */
function untilStatus(rest: RestClient, path: string, status: number): Promise<RestResponse> {
  const look = async () => {
    const response = await rest.get(path);
    return response.status === status && response;
  };
  return until(look, `GET ${path} ${status}`);
}

// The last one: it ends the server.
test.serial('503 - while no server accepts calls, each request is UNAVAILABLE with Retry-After', async (t) => {
  const { rest, stack } = t.context;
  const anonymous = rest.withKey(undefined);
  const id = await rest.category();
  const headers = { 'content-type': 'application/json' };
  stack.servers[0]?.send('drain');
  // Each thread of Envoy, and each of its clusters, detects it at a different time.
  const ask = () => [anonymous.get('/healthz'), anonymous.get('/categories'), rest.get(`/categories/${id}`)];
  const onAllThreads = async () => {
    const responses = await Promise.all(Array.from({ length: 20 }, ask).flat());
    return responses.every(({ status }) => status === 503);
  };
  await until(onAllThreads, 'the change at all threads of Envoy');

  for (const response of [
    await anonymous.get('/healthz'),
    await rest.get(`/categories/${id}`),
    await rest.post('/categories', { name: 'Dogs' }),
    await rest.delete(`/categories/${id}`),
    await anonymous.get('/categories'), // without a server no caller is authenticated
    await rest.delete('/categories'),
    await rest.get('/pets/abc'),
    await rest.send('POST', '/categories', { raw: '{', headers }),
    await rest.send('POST', '/categories', { raw: 'a=b', headers: { 'content-type': 'text/plain' } }),
    await anonymous.send('POST', '/nope', { raw: ' '.repeat(5_000_000), headers }),
  ]) {
    isUnavailable(t, response);
  }
  const head = await rest.send('HEAD', '/categories');
  t.deepEqual([head.status, head.headers.get('retry-after')], [503, '1']);

  stack.servers[0]?.process.kill('SIGKILL'); // the launcher starts another one
  await untilStatus(anonymous, '/healthz', 200);
  // Each thread of Envoy detects the server at a different time.
  const { body } = await untilStatus(rest, `/categories/${id}`, 200);
  t.deepEqual(body, { id, name: 'Cats' }); // no refused request had an effect
  isError(t, await untilStatus(anonymous, '/categories', 401), 401, 'API_KEY_MISSING');
});
