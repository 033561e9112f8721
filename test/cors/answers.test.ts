/** Responses of the public port to pages of other origins, by the setting CORS_ORIGINS. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ListPetsRequest, PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { call } from '../support/calls/connect-client.ts';
import { grpcFrame } from '../support/calls/http2.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';
import { withinOneMinute } from '../support/until.ts';

const SHOP = 'https://shop.example';
const LOCAL = 'http://localhost:3000';
const APP = 'capacitor://localhost';
const { paths, components } = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));

const test = stackTest({ CORS_ORIGINS: `${SHOP}, ${LOCAL}, ${APP}` });

type Answer = Pick<Response, 'status' | 'headers'>;

function listed({ headers }: Answer, name: string): string[] {
  return (headers.get(name) ?? '').split(/, ?/).filter((item) => item !== '');
}

const corsHeaders = ({ headers }: Answer) => [...headers.keys()].filter((name) => name.startsWith('access-control-'));

function preflight({ rest }: Pick<TestStack, 'rest'>, path: string, origin = SHOP): Promise<Response> {
  const requested = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, cache-control',
  };
  return fetch(`${rest.url}${path}`, { method: 'OPTIONS', headers: { origin, ...requested } });
}

test.serial('Preflight - from an allowed origin needs no key, on any path, and counts against no limit', async (t) => {
  const anonymous = t.context.rest.withKey(undefined);
  const remaining = async () => Number((await anonymous.get('/pets')).headers.get('x-ratelimit-remaining'));
  await withinOneMinute(10_000);
  const before = await remaining();
  for (const origin of [SHOP, LOCAL, APP]) {
    for (const path of ['/pets', '/store/inventory/7', '/nope', Pets.listPets.path]) {
      const { status, headers } = await preflight(t.context, path, origin);
      t.is(status, 200, path);
      t.is(headers.get('access-control-allow-origin'), origin);
      t.is(headers.get('access-control-max-age'), '7200');
      t.is(headers.get('vary'), 'origin');
    }
  }
  t.is(await remaining(), before - 1);
});

test.serial('Preflight - allows each method and header of the description, gRPC-Web, Connect and traces', async (t) => {
  const methods = Object.values(paths).flatMap((path) => Object.keys(path as object));
  const parameters = Object.values(components.parameters) as { in: string; name: string }[];
  const ofRest = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name.toLowerCase());
  const ofRpc = ['x-grpc-web', 'x-user-agent', 'grpc-timeout', 'connect-protocol-version', 'connect-timeout-ms'];
  const ofTraces = ['traceparent', 'tracestate', 'baggage', 'sentry-trace'];
  t.true(methods.includes('patch') && ofRest.includes('idempotency-key'));
  const response = await preflight(t.context, '/pets');
  const allowedMethods = listed(response, 'access-control-allow-methods');
  for (const method of methods) t.true(allowedMethods.includes(method.toUpperCase()), method);
  const allowed = listed(response, 'access-control-allow-headers');
  for (const name of [...ofRest, ...ofRpc, ...ofTraces, 'authorization', 'cache-control', 'content-type'])
    t.true(allowed.includes(name), name);
});

test.serial('Other callers - pages of other origins get no CORS headers', async (t) => {
  const { rest } = t.context;
  for (const origin of ['https://shop.example.evil.example', 'http://shop.example', 'https://shop.example:444']) {
    for (const path of ['/pets', '/nope', '/healthz']) {
      const response = await rest.get(path, { headers: { origin } });
      t.is(response.status, path === '/nope' ? 404 : 200);
      t.deepEqual(corsHeaders(response), [], origin);
      t.is(response.headers.get('vary'), 'origin', 'caches must know that the response depends on the origin');
    }
    const refusal = await preflight(t.context, '/pets', origin);
    t.deepEqual([refusal.status, corsHeaders(refusal)], [401, []]);
  }
  t.is((await rest.get('/pets')).headers.get('vary'), 'origin');
});

test.serial('Responses - pages of an allowed origin can read all, with all documented headers', async (t) => {
  const { rest, key } = t.context;
  const anonymous = rest.withKey(undefined);
  const headers = { origin: SHOP };
  const rpc = (type: string, body: Uint8Array, by: string) =>
    call({ rest, key: by }, Pets.listPets.path, body, { ...headers, 'content-type': type });
  const message = ListPetsRequest.encode({ ids: [], pageToken: '' }).finish();
  const [web, connect] = ['application/grpc-web+proto', 'application/proto'];
  const responses: Answer[] = [];
  for (const [status, response] of [
    [200, rest.get('/pets', { headers })],
    [201, rest.send('POST', '/categories', { json: { name: 'Cats' }, headers })],
    [200, anonymous.get('/healthz', { headers })],
    [401, anonymous.get('/pets', { headers })],
    [404, rest.get('/nope', { headers })],
    [404, rest.get('/pets/999999', { headers })],
    [413, rest.send('POST', '/pets', { json: { name: 'x'.repeat(70_000) }, headers })],
    [200, rpc(web, grpcFrame(message), key)],
    [200, rpc(web, grpcFrame(message), 'none')], // with a gRPC status
    [200, rpc(connect, message, key)],
    [401, rpc(connect, message, 'none')],
  ] as const) {
    t.is((await response).status, status);
    responses.push(await response);
  }
  const documented = Object.keys(components.headers).map((name) => name.toLowerCase().replace(/^link-.*/, 'link'));
  const all = [...documented, 'grpc-status', 'grpc-message', 'grpc-status-details-bin', 'grpc-retry-pushback-ms'];
  for (const [index, response] of responses.entries()) {
    t.is(response.headers.get('access-control-allow-origin'), SHOP, `response ${index}`);
    t.is(response.headers.get('vary'), 'origin');
    const exposed = listed(response, 'access-control-expose-headers');
    for (const name of all) t.true(exposed.includes(name), name);
  }
});

/** It serves /healthz, and breaks its response to /store/inventory off: Envoy's filters see no such error. */
const MUTE_SERVER = fileURLToPath(new URL('../rest/mute-server.ts', import.meta.url));

for (const [title, settings, origins] of [
  ['allows no other origin by default', {}, { [SHOP]: null }],
  ['* allows every origin', { CORS_ORIGINS: '*' }, { [SHOP]: SHOP, null: 'null' }],
] as const) {
  test(`CORS_ORIGINS - ${title}`, async (t) => {
    const { rest } = await startTestStack(t, settings, { program: MUTE_SERVER });
    for (const [origin, expected] of Object.entries(origins)) {
      for (const [method, path, headers] of [
        ['GET', '/healthz', { origin }],
        ['OPTIONS', '/healthz', { origin, 'access-control-request-method': 'GET' }],
        ['GET', '/store/inventory', { origin }],
      ] as const) {
        const response = await fetch(rest.url + path, { method, headers });
        t.is(response.status, path === '/healthz' ? 200 : 503);
        t.is(response.headers.get('access-control-allow-origin'), expected, `${method} ${path}`);
        t.is(response.headers.get('access-control-allow-credentials'), null);
      }
    }
  });
}
