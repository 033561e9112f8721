/** What the public port answers to pages of other origins, when CORS_ORIGINS names some. */

import { readFileSync } from 'node:fs';
import anyTest, { type TestFn } from 'ava';
import { ListPetsRequest, PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { withinOneMinute } from '../support/limit-windows.ts';
import { connectOperator } from '../support/operator.ts';
import type { RestResponse } from '../support/rest-client.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<TestStack>;

const OURS = 'https://shop.example';
const origin = { origin: OURS };
const description = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));

test.before(async (t) => {
  t.context = await startTestStack({ CORS_ORIGINS: `${OURS}, http://localhost:3000`, ADDRESS_PER_MINUTE: '1000' });
});
test.after.always((t) => t.context.close());

/** The items of a list in a header. */
function listed(headers: Headers, name: string): string[] {
  return (headers.get(name) ?? '').split(/, ?/).filter((item) => item !== '');
}

/** Asks whether a page of an origin may send a request. */
function preflight({ rest }: TestStack, path: string, from = OURS, method = 'POST'): Promise<Response> {
  const asked = { 'access-control-request-method': method, 'access-control-request-headers': 'authorization' };
  return fetch(`${rest.url}${path}`, { method: 'OPTIONS', headers: { origin: from, ...asked } });
}

function corsHeaders(headers: Headers): string[] {
  return [...headers.keys()].filter((name) => name.startsWith('access-control-'));
}

test('Preflight - from an allowed origin needs no key, on any path of REST, gRPC-Web and Connect', async (t) => {
  for (const from of [OURS, 'http://localhost:3000']) {
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

test('Preflight - allows every method and header of the description, of gRPC-Web and of Connect', async (t) => {
  const { paths, components } = description;
  const methods = Object.values(paths).flatMap((path) => Object.keys(path as object));
  const parameters = Object.values(components.parameters) as { in: string; name: string }[];
  const sent = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
  t.true(methods.includes('patch') && sent.includes('Idempotency-Key'));
  const { headers } = await preflight(t.context, '/pets');
  const allowedMethods = listed(headers, 'access-control-allow-methods');
  for (const method of methods) t.true(allowedMethods.includes(method.toUpperCase()), method);
  const allowed = listed(headers, 'access-control-allow-headers');
  const ofRpc = ['x-grpc-web', 'x-user-agent', 'grpc-timeout', 'connect-protocol-version', 'connect-timeout-ms'];
  for (const name of [...sent, ...ofRpc, 'authorization', 'content-type']) {
    t.true(allowed.includes(name.toLowerCase()), name);
  }
});

test.serial('Preflight - counts against no limit', async (t) => {
  const stranger = t.context.rest.withKey(undefined);
  const remaining = async () => Number((await stranger.get('/pets')).headers.get('x-ratelimit-remaining'));
  await withinOneMinute(10_000);
  const before = await remaining();
  for (let count = 0; count < 50; count += 1) t.is((await preflight(t.context, '/pets')).status, 200);
  t.is(await remaining(), before - 1);
});

test('Answers - those to a page of a set origin may be read, and all headers that the description has', async (t) => {
  const described = Object.keys(description.components.headers).map((name) =>
    name.toLowerCase().replace(/^link-.*/, 'link'),
  );
  const { rest } = t.context;
  const id = await rest.pet();
  const found = await rest.get('/pets', { headers: origin });
  const exposed = listed(found.headers, 'access-control-expose-headers');
  for (const name of described) t.true(exposed.includes(name), name);

  const categoryId = await rest.category();
  const one = await rest.get(`/categories/${categoryId}`, { headers: origin });
  const tag = { 'if-none-match': one.headers.get('etag') ?? '' };
  const json = { name: 'Tom', categoryId };
  const answers: [number, RestResponse][] = [
    [200, found],
    [200, await rest.get(`/pets/${id}`, { headers: origin })],
    [201, await rest.send('POST', '/pets', { json, headers: origin })],
    [204, await rest.send('DELETE', `/pets/${id}`, { headers: origin })],
    [304, await rest.get(`/categories/${categoryId}`, { headers: { ...origin, ...tag } })],
    [200, await rest.send('HEAD', '/pets', { headers: origin })],
    [200, await rest.withKey(undefined).get('/healthz', { headers: origin })],
  ];
  for (const [status, answer] of answers) {
    t.is(answer.status, status);
    t.is(answer.headers.get('access-control-allow-origin'), OURS, String(status));
    t.is(answer.headers.get('access-control-expose-headers'), exposed.join(', '));
    t.is(answer.headers.get('vary'), 'origin');
  }
});

test.serial('Responses - errors of Envoy and of the server can be read too', async (t) => {
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
  const answers: [number, RestResponse][] = [
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
  stack.servers[0].process.kill('SIGKILL');
  const find503 = async () => {
    const answer = await rest.get('/pets', { headers });
    return answer.status === 503 && answer;
  };
  answers.push([503, await until(find503, 'an answer of 503')]);
  await until(async () => (await rest.get('/pets')).status === 200, 'an answer of 200');
  for (const [status, answer] of answers) {
    t.is(answer.status, status, answer.text);
    t.is(answer.headers.get('access-control-allow-origin'), OURS, answer.text);
    t.true(listed(answer.headers, 'access-control-expose-headers').includes('retry-after'));
    t.is(answer.headers.get('vary'), 'origin');
  }
});

test('Answers - of gRPC-Web and Connect may be read', async (t) => {
  const { rest, key } = t.context;
  const message = ListPetsRequest.encode({ ids: [], pageToken: '' }).finish();
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
  for (const authorization of [`Bearer ${key}`, 'none']) {
    for (const [type, body] of [
      ['application/grpc-web+proto', frame],
      ['application/proto', Buffer.from(message)],
    ] as const) {
      const headers = { ...origin, authorization, 'content-type': type };
      const answer = await fetch(`${rest.url}${Pets.listPets.path}`, { method: 'POST', headers, body });
      await answer.arrayBuffer();
      t.is(answer.headers.get('access-control-allow-origin'), OURS);
      const exposed = listed(answer.headers, 'access-control-expose-headers');
      for (const name of ['grpc-status', 'grpc-message', 'grpc-status-details-bin']) t.true(exposed.includes(name));
    }
  }
});

test('Others - pages of other origins, and callers that are no page, see nothing of it', async (t) => {
  const { rest } = t.context;
  for (const other of [
    'https://shop.example.evil.example',
    'http://shop.example',
    'https://shop.example:444',
    'null',
  ]) {
    const headers = { origin: other };
    for (const path of ['/pets', '/nope', '/healthz']) {
      const answer = await rest.get(path, { headers });
      t.is(answer.status, (await rest.get(path)).status);
      t.deepEqual(corsHeaders(answer.headers), [], other);
      t.is(answer.headers.get('vary'), 'origin', 'a cache is to know');
    }
    const asked = await preflight(t.context, '/pets', other);
    t.is(asked.status, 401);
    t.deepEqual(corsHeaders(asked.headers), []);
  }
  const answer = await rest.get('/pets');
  t.deepEqual(corsHeaders(answer.headers), []);
  t.is(answer.headers.get('vary'), 'origin');
});

test('OPTIONS - that is no preflight is a method like any other', async (t) => {
  const { rest } = t.context;
  for (const headers of [{}, origin, { 'access-control-request-method': 'POST' }]) {
    t.is((await rest.withKey(undefined).send('OPTIONS', '/pets', { headers })).status, 401);
    const answer = await rest.send('OPTIONS', '/pets', { headers });
    t.is(answer.status, 405);
    t.is(answer.headers.get('allow'), 'GET, HEAD, POST');
    t.is((await rest.send('OPTIONS', '/nope', { headers })).status, 404);
  }
});
