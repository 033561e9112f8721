/** Responses of the public port to pages of other origins, with CORS_ORIGINS set. */
import { readFileSync } from 'node:fs';
import anyTest, { type TestFn } from 'ava';
import { ListPetsRequest, PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { withinOneMinute } from '../support/limit-windows.ts';
import { connectOperator } from '../support/operator.ts';
import type { RestResponse } from '../support/rest-client.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<TestStack>;

const ALLOWED_ORIGIN = 'https://shop.example';
const origin = { origin: ALLOWED_ORIGIN };
const description = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));

test.before(async (t) => {
  t.context = await startTestStack({
    CORS_ORIGINS: `${ALLOWED_ORIGIN}, http://localhost:3000`,
    ADDRESS_PER_MINUTE: '1000',
  });
});
test.after.always((t) => t.context.close());

/** The items of a list in a header. */
function listed(headers: Headers, name: string): string[] {
  return (headers.get(name) ?? '').split(/, ?/).filter((item) => item !== '');
}

/** Sends a CORS preflight request. */
function preflight({ rest }: TestStack, path: string, from = ALLOWED_ORIGIN, method = 'POST'): Promise<Response> {
  const requested = { 'access-control-request-method': method, 'access-control-request-headers': 'authorization' };
  return fetch(`${rest.url}${path}`, { method: 'OPTIONS', headers: { origin: from, ...requested } });
}

function corsHeaders(headers: Headers): string[] {
  return [...headers.keys()].filter((name) => name.startsWith('access-control-'));
}

test.serial('Preflight - from an allowed origin needs no key, on any path of REST, gRPC-Web and Connect', async (t) => {
  for (const from of [ALLOWED_ORIGIN, 'http://localhost:3000']) {
    for (const path of ['/pets', '/pets/1', '/store/inventory/7', '/nope', Pets.listPets.path]) {
      const { status, headers } = await preflight(t.context, path, from);
      t.is(status, 200, path);
      t.is(headers.get('access-control-allow-origin'), from);
      t.is(headers.get('access-control-allow-credentials'), null);
      t.is(headers.get('access-control-max-age'), '7200');
      t.is(headers.get('vary'), 'origin');
    }
  }
});

test.serial('Preflight - allows every method and header of the description, of gRPC-Web and of Connect', async (t) => {
  const { paths, components } = description;
  const methods = Object.values(paths).flatMap((path) => Object.keys(path as object));
  const parameters = Object.values(components.parameters) as { in: string; name: string }[];
  const requestHeaders = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
  t.true(methods.includes('patch') && requestHeaders.includes('Idempotency-Key'));
  const { headers } = await preflight(t.context, '/pets');
  const allowedMethods = listed(headers, 'access-control-allow-methods');
  for (const method of methods) t.true(allowedMethods.includes(method.toUpperCase()), method);
  const allowed = listed(headers, 'access-control-allow-headers');
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
  for (let count = 0; count < 50; count += 1) t.is((await preflight(t.context, '/pets')).status, 200);
  t.is(await remaining(), before - 1);
});

test.serial('Responses - pages of an allowed origin can read them, with all documented headers', async (t) => {
  const documented = Object.keys(description.components.headers).map((name) =>
    name.toLowerCase().replace(/^link-.*/, 'link'),
  );
  const { rest } = t.context;
  const id = await rest.pet();
  const found = await rest.get('/pets', { headers: origin });
  const exposed = listed(found.headers, 'access-control-expose-headers');
  for (const name of documented) t.true(exposed.includes(name), name);

  const categoryId = await rest.category();
  const one = await rest.get(`/categories/${categoryId}`, { headers: origin });
  const tag = { 'if-none-match': one.headers.get('etag') ?? '' };
  const json = { name: 'Tom', categoryId };
  const responses: [number, RestResponse][] = [
    [200, found],
    [200, await rest.get(`/pets/${id}`, { headers: origin })],
    [201, await rest.send('POST', '/pets', { json, headers: origin })],
    [204, await rest.send('DELETE', `/pets/${id}`, { headers: origin })],
    [304, await rest.get(`/categories/${categoryId}`, { headers: { ...origin, ...tag } })],
    [200, await rest.send('HEAD', '/pets', { headers: origin })],
    [200, await rest.withKey(undefined).get('/healthz', { headers: origin })],
  ];
  for (const [status, response] of responses) {
    t.is(response.status, status);
    t.is(response.headers.get('access-control-allow-origin'), ALLOWED_ORIGIN, String(status));
    t.is(response.headers.get('access-control-expose-headers'), exposed.join(', '));
    t.is(response.headers.get('vary'), 'origin');
  }
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
      const headers = { ...origin, authorization, 'content-type': type };
      const response = await fetch(`${rest.url}${Pets.listPets.path}`, { method: 'POST', headers, body });
      await response.arrayBuffer();
      t.is(response.headers.get('access-control-allow-origin'), ALLOWED_ORIGIN);
      const exposed = listed(response.headers, 'access-control-expose-headers');
      for (const name of ['grpc-status', 'grpc-message', 'grpc-status-details-bin']) t.true(exposed.includes(name));
    }
  }
});

test.serial(
  'Other callers - pages of other origins, and requests without an origin, get no CORS headers',
  async (t) => {
    const { rest } = t.context;
    for (const other of [
      'https://shop.example.evil.example',
      'http://shop.example',
      'https://shop.example:444',
      'null',
    ]) {
      const headers = { origin: other };
      for (const path of ['/pets', '/nope', '/healthz']) {
        const response = await rest.get(path, { headers });
        t.is(response.status, (await rest.get(path)).status);
        t.deepEqual(corsHeaders(response.headers), [], other);
        t.is(response.headers.get('vary'), 'origin', 'caches must know that the response depends on the origin');
      }
      const refusal = await preflight(t.context, '/pets', other);
      t.is(refusal.status, 401);
      t.deepEqual(corsHeaders(refusal.headers), []);
    }
    const response = await rest.get('/pets');
    t.deepEqual(corsHeaders(response.headers), []);
    t.is(response.headers.get('vary'), 'origin');
  },
);

test.serial('OPTIONS - a request that is not a preflight is treated like any other method', async (t) => {
  const { rest } = t.context;
  for (const headers of [{}, origin, { 'access-control-request-method': 'POST' }]) {
    t.is((await rest.withKey(undefined).send('OPTIONS', '/pets', { headers })).status, 401);
    const response = await rest.send('OPTIONS', '/pets', { headers });
    t.is(response.status, 405);
    t.is(response.headers.get('allow'), 'GET, HEAD, POST');
    t.is((await rest.send('OPTIONS', '/nope', { headers })).status, 404);
  }
});

// The last one: it kills the server, and Envoy's threads learn one after the other that there is a new one.
test.serial('Responses - pages of an allowed origin can read errors of Envoy and of the server', async (t) => {
  const { rest, stack } = t.context;
  const operator = await connectOperator(t.context);
  const { id } = await operator.account({ perMinute: 1, perDay: 100 });
  const limited = rest.withKey((await operator.key(id)).key);
  operator.close();
  await withinOneMinute(10_000);
  await limited.get('/pets');
  const headers = origin;
  const json = { 'content-type': 'application/json', ...origin };
  const big = { raw: `{"name":"${'x'.repeat(70_000)}"}`, headers: json };
  const responses: [number, RestResponse][] = [
    [401, await rest.withKey(undefined).get('/pets', { headers })],
    [401, await rest.withKey(undefined).send('POST', '/pets', { json: {}, headers })],
    [429, await limited.get('/pets', { headers })],
    [404, await rest.get('/nope', { headers })],
    [404, await rest.get('/pets/999999', { headers })],
    [405, await rest.send('PUT', '/pets', { json: {}, headers })],
    [405, await rest.send('OPTIONS', '/pets', { headers })],
    [400, await rest.get('/pets/abc', { headers })],
    [400, await rest.get('/pets?nope=1', { headers })],
    [400, await rest.send('POST', '/pets', { raw: '{', headers: json })],
    [413, await rest.send('POST', '/pets', big)],
  ];
  stack.servers[0]?.process.kill('SIGKILL');
  const find503 = async () => {
    const response = await rest.get('/pets', { headers });
    return response.status === 503 && response;
  };
  responses.push([503, await until(find503, 'a 503')]);
  for (const [status, response] of responses) {
    t.is(response.status, status, response.text);
    t.is(response.headers.get('access-control-allow-origin'), ALLOWED_ORIGIN, response.text);
    t.true(listed(response.headers, 'access-control-expose-headers').includes('retry-after'));
    t.is(response.headers.get('vary'), 'origin');
  }
});
