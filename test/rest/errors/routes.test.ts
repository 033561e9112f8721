import anyTest, { type TestFn } from 'ava';
import { isError } from '../../support/contract.ts';
import { PUBLIC } from '../../support/resources.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { http1, http2 } from '../../support/wire.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

/** The methods of each path, with the id 1. A stream has no end, and tests of its own. */
const ALLOWED = Map.groupBy(
  PUBLIC.filter(({ isStream }) => !isStream).flatMap(({ routes }) => routes),
  ({ template }) => template.replace(/\{\w+\}/, '1'),
);
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

for (const [path, routes] of ALLOWED) {
  const allow = routes
    .map(({ method }) => method)
    .sort()
    .join(', ');
  test(`405 - ${path} allows only ${allow}, as its Allow header says`, async (t) => {
    const { rest } = t.context;
    for (const method of METHODS.filter((one) => !allow.split(', ').includes(one))) {
      for (const written of [path, `${path}/`, `${path}?colour=red`]) {
        const response = await rest.send(method, written, method === 'POST' ? { json: {} } : {});
        const [pathname] = written.split('?');
        const message = `${pathname} does not answer to ${method}; it answers to ${allow}`;
        isError(t, response, 405, 'METHOD_NOT_ALLOWED', message);
        t.is(response.headers.get('allow'), allow);
      }
    }
    for (const method of allow.split(', ')) {
      const { status } = await rest.send(method, path, /PUT|PATCH|POST/.test(method) ? { json: {} } : {});
      t.true([200, 201, 400, 404].includes(status), `${method} ${path}: ${status}`);
    }
  });
}

test('405 - also for TRACE and for unknown methods', async (t) => {
  const { publicAddress, key } = t.context;
  for (const method of ['TRACE', 'PROPFIND', 'PURGE']) {
    const head = `${method} /pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    const headers = { authorization: `Bearer ${key}` };
    for (const response of [
      await http1(publicAddress, head),
      await http2(publicAddress, { method, path: '/pets', headers }),
    ]) {
      isError(t, response, 405, 'METHOD_NOT_ALLOWED');
      t.is(response.headers.get('allow'), 'GET, HEAD, POST');
    }
  }
});

test('404 - an unknown path is ROUTE_NOT_FOUND', async (t) => {
  const { rest } = t.context;
  const paths = [
    ...[
      '/',
      '/nope',
      '//',
      '//pets',
      '/Pets',
      '/PETS',
      '/pet',
      '/petsx',
      '/pets/1/2',
      '/pets/1/owner',
      '/store',
      '/store/',
    ],
    ...['/store/order', '/store/orders/1/2', '/inventory', '/orders', '/v1/pets', '/categories/1/pets', '/pets.json'],
    ...['/admin', '/healthz/', '/healthz/x', '/%2Fpets', '/pets%2F1', '/..%2fpets', '/store%2Forders'],
  ];
  for (const path of paths) {
    const response = await rest.get(path);
    isError(t, response, 404, 'ROUTE_NOT_FOUND', `nothing answers to GET ${path}`);
    t.false(response.headers.has('allow'));
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    isError(t, await rest.send(method, '/nope'), 404, 'ROUTE_NOT_FOUND', `nothing answers to ${method} /nope`);
  }
  isError(t, await rest.get('/nope?secret=1'), 404, 'ROUTE_NOT_FOUND', 'nothing answers to GET /nope');
});

test('404 - gRPC paths are not routes for JSON', async (t) => {
  const { rest } = t.context;
  for (const path of [
    '/petstore.v1.PetService/ListPets',
    '/petstore.edge.v1.EdgeService/Refuse',
    '/grpc.health.v1.Health/Check',
  ]) {
    isError(t, await rest.post(path, {}), 404, 'ROUTE_NOT_FOUND', `nothing answers to POST ${path}`);
    isError(t, await rest.get(path), 404, 'ROUTE_NOT_FOUND');
  }
});

test('404 - a long path is truncated in the message', async (t) => {
  const { body } = await t.context.rest.get(`/${'x'.repeat(30_000)}`);
  t.is(body.code, 'ROUTE_NOT_FOUND');
  t.true(body.message.length < 1_000);
});

test('order of errors - path and method come before content type, body and query', async (t) => {
  const { rest } = t.context;
  const form = { raw: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  const broken = { raw: '{', headers: { 'content-type': 'application/json' } };
  for (const bad of [form, broken]) {
    isError(t, await rest.send('POST', '/nope?colour=red', bad), 404, 'ROUTE_NOT_FOUND');
    isError(t, await rest.send('PUT', '/pets?colour=red', bad), 405, 'METHOD_NOT_ALLOWED');
  }
});

test('order of errors - an invalid request comes before the errors of the method', async (t) => {
  const { rest } = t.context;
  const form = { raw: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  const broken = { raw: '{', headers: { 'content-type': 'application/json' } };
  isError(t, await rest.send('PUT', '/pets/999999', form), 400, 'UNSUPPORTED_CONTENT_TYPE');
  isError(t, await rest.send('PUT', '/pets/999999', broken), 400, 'MALFORMED_BODY');
  isError(t, await rest.put('/pets/999999', { name: '' }), 400, 'INVALID_ARGUMENT');
  isError(t, await rest.get('/pets/999999?colour=red'), 400, 'INVALID_ARGUMENT');
  isError(t, await rest.delete('/categories/999999?colour=red'), 400, 'INVALID_ARGUMENT');
});
