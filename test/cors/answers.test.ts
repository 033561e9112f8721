/** Responses of the public port to pages of other origins, with CORS_ORIGINS set. */
import { readFileSync } from 'node:fs';
import anyTest, { type TestFn } from 'ava';
import { ListPetsRequest, PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { withinOneMinute } from '../support/limit-windows.ts';
import { connectOperator } from '../support/operator.ts';
import type { RestRequest, RestResponse } from '../support/rest-client.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<TestStack>;

const ALLOWED_ORIGIN = 'https://shop.example';
const { paths, components } = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));

test.before(async (t) => {
  t.context = await startTestStack({ CORS_ORIGINS: `${ALLOWED_ORIGIN}, http://localhost:3000` });
});
test.after.always((t) => t.context.close());

/** The items of a list in a header. */
function listed({ headers }: { readonly headers: Headers }, name: string): string[] {
  return (headers.get(name) ?? '').split(/, ?/).filter((item) => item !== '');
}

/** Sends a request from a page of the origin. */
function fromPage(stack: TestStack, method: string, path: string, request: RestRequest = {}, origin = ALLOWED_ORIGIN) {
  const type: Record<string, string> = request.raw === undefined ? {} : { 'content-type': 'application/json' };
  return stack.rest.send(method, path, { ...request, headers: { ...type, ...request.headers, origin } });
}

/** Sends a CORS preflight request. */
function preflight({ rest }: TestStack, path: string, origin = ALLOWED_ORIGIN): Promise<Response> {
  const requested = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };
  return fetch(`${rest.url}${path}`, { method: 'OPTIONS', headers: { origin, ...requested } });
}

test.serial('Preflight - from an allowed origin needs no key, on any path of REST, gRPC-Web and Connect', async (t) => {
  for (const origin of [ALLOWED_ORIGIN, 'http://localhost:3000']) {
    for (const path of ['/pets', '/store/inventory/7', '/nope', Pets.listPets.path]) {
      const { status, headers } = await preflight(t.context, path, origin);
      t.is(status, 200, path);
      t.is(headers.get('access-control-allow-origin'), origin);
      t.is(headers.get('access-control-max-age'), '7200');
      t.is(headers.get('vary'), 'origin');
    }
  }
});

test.serial('Preflight - allows every method and header of the description, of gRPC-Web and of Connect', async (t) => {
  const methods = Object.values(paths).flatMap((path) => Object.keys(path as object));
  const parameters = Object.values(components.parameters) as { in: string; name: string }[];
  const requestHeaders = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
  t.true(methods.includes('patch') && requestHeaders.includes('Idempotency-Key'));
  const response = await preflight(t.context, '/pets');
  const allowedMethods = listed(response, 'access-control-allow-methods');
  for (const method of methods) t.true(allowedMethods.includes(method.toUpperCase()), method);
  const allowed = listed(response, 'access-control-allow-headers');
  const rpcHeaders = ['x-grpc-web', 'x-user-agent', 'grpc-timeout', 'connect-protocol-version', 'connect-timeout-ms'];
  for (const name of [...requestHeaders, ...rpcHeaders, 'authorization', 'content-type']) {
    t.true(allowed.includes(name.toLowerCase()), name);
  }
});

test.serial('Preflight - counts against no limit', async (t) => {
  const anonymous = t.context.rest.withKey(undefined);
  const remaining = async () => Number((await anonymous.get('/pets')).headers.get('x-ratelimit-remaining'));
  await withinOneMinute(10_000);
  const before = await remaining();
  for (let count = 0; count < 5; count += 1) t.is((await preflight(t.context, '/pets')).status, 200);
  t.is(await remaining(), before - 1);
});

test.serial('gRPC-Web and Connect - pages of an allowed origin can read responses', async (t) => {
  const { rest, key } = t.context;
  const message = ListPetsRequest.encode({ ids: [], pageToken: '' }).finish();
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
  for (const authorization of [`Bearer ${key}`, 'none']) {
    for (const [type, body] of [
      ['application/grpc-web+proto', frame],
      ['application/proto', Buffer.from(message)],
    ] as const) {
      const headers = { origin: ALLOWED_ORIGIN, authorization, 'content-type': type };
      const response = await fetch(`${rest.url}${Pets.listPets.path}`, { method: 'POST', headers, body });
      await response.arrayBuffer();
      t.is(response.headers.get('access-control-allow-origin'), ALLOWED_ORIGIN);
      const exposed = listed(response, 'access-control-expose-headers');
      for (const name of ['grpc-status', 'grpc-message', 'grpc-status-details-bin']) t.true(exposed.includes(name));
    }
  }
});

test.serial('Other callers - pages of other origins get no CORS headers', async (t) => {
  const corsHeaders = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control-'));
  for (const other of ['https://shop.example.evil.example', 'http://shop.example', 'https://shop.example:444']) {
    for (const path of ['/pets', '/nope', '/healthz']) {
      const { status, headers } = await fromPage(t.context, 'GET', path, {}, other);
      t.is(status, path === '/nope' ? 404 : 200);
      t.deepEqual(corsHeaders(headers), [], other);
      t.is(headers.get('vary'), 'origin', 'caches must know that the response depends on the origin');
    }
    const refusal = await preflight(t.context, '/pets', other);
    t.is(refusal.status, 401);
    t.deepEqual(corsHeaders(refusal.headers), []);
  }
  t.is((await t.context.rest.get('/pets')).headers.get('vary'), 'origin');
});

test.serial('OPTIONS - a request that is not a preflight is treated like any other method', async (t) => {
  const { rest } = t.context;
  for (const headers of [{}, { origin: ALLOWED_ORIGIN }, { 'access-control-request-method': 'POST' }]) {
    t.is((await rest.withKey(undefined).send('OPTIONS', '/pets', { headers })).status, 401);
    const response = await rest.send('OPTIONS', '/pets', { headers });
    t.is(response.status, 405);
    t.is(response.headers.get('allow'), 'GET, HEAD, POST');
    t.is((await rest.send('OPTIONS', '/nope', { headers })).status, 404);
  }
});

// The last one: it kills the server, and Envoy's threads learn one after the other that there is a new one.
test.serial('Responses - pages of an allowed origin can read all, with all documented headers', async (t) => {
  const { rest, stack } = t.context;
  const operator = await connectOperator(t.context);
  const limited = { ...t.context, rest: rest.withKey(await operator.keyOf({ perMinute: 1, perDay: 100 })) };
  operator.close();
  const anonymous = { ...t.context, rest: rest.withKey(undefined) };
  const [id, categoryId] = [await rest.pet(), await rest.category()];
  const tag = { 'if-none-match': (await rest.get(`/categories/${categoryId}`)).headers.get('etag') ?? '' };
  await withinOneMinute(10_000);
  await limited.rest.get('/pets');
  const responses: [number, RestResponse][] = [];
  for (const [status, caller, method, path, request] of [
    [200, t.context, 'GET', '/pets'],
    [201, t.context, 'POST', '/categories', { json: { name: 'Cats' } }],
    [204, t.context, 'DELETE', `/pets/${id}`],
    [304, t.context, 'GET', `/categories/${categoryId}`, { headers: tag }],
    [200, t.context, 'HEAD', '/pets'],
    [200, anonymous, 'GET', '/healthz'],
    [401, anonymous, 'GET', '/pets'],
    [401, anonymous, 'POST', '/pets', { json: {} }],
    [429, limited, 'GET', '/pets'],
    [404, t.context, 'GET', '/nope'],
    [404, t.context, 'GET', '/pets/999999'],
    [405, t.context, 'OPTIONS', '/pets'],
    [400, t.context, 'GET', '/pets/abc'],
    [400, t.context, 'POST', '/pets', { raw: '{' }],
    [413, t.context, 'POST', '/pets', { raw: `{"name":"${'x'.repeat(70_000)}"}` }],
  ] as const) {
    responses.push([status, await fromPage(caller, method, path, request)]);
  }
  stack.servers[0]?.process.kill('SIGKILL');
  const find503 = async () => {
    const response = await fromPage(t.context, 'GET', '/pets');
    return response.status === 503 && response;
  };
  responses.push([503, await until(find503, 'a 503')]);
  const documented = Object.keys(components.headers).map((name) => name.toLowerCase().replace(/^link-.*/, 'link'));
  for (const [status, response] of responses) {
    t.is(response.status, status, response.text);
    t.is(response.headers.get('access-control-allow-origin'), ALLOWED_ORIGIN, response.text);
    const exposed = listed(response, 'access-control-expose-headers');
    for (const name of documented) t.true(exposed.includes(name), name);
    t.is(response.headers.get('vary'), 'origin');
  }
});
