import anyTest, { type TestFn } from 'ava';
import { isError } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { http1, http2 } from '../../support/wire.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const NOT_HTTP = 'the request is not valid HTTP, or its headers are too large';

test('HTTP - a request that Envoy can not parse is a 400 with the usual error body', async (t) => {
  const { publicAddress, key } = t.context;
  const authorization = `Authorization: Bearer ${key}\r\n`;
  const requests = [
    'nonsense\r\n\r\n',
    'GET\r\n\r\n',
    `GET /pets HTTP/1.1\r\n${authorization}\r\n`, // no Host
    `GET pets HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`,
    `OPTIONS * HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`,
    `GET /pets#fragment HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`,
    `GET /pets/%00 HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`,
    `GET /pets HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(70_000)}\r\n${authorization}\r\n`,
    `GET /pets HTTP/1.1\r\nHost: x\r\n${'X-Many: x\r\n'.repeat(150)}${authorization}\r\n`,
    `POST /pets HTTP/1.1\r\nHost: x\r\n${authorization}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    `POST /pets HTTP/1.1\r\nHost: x\r\n${authorization}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
  ];
  for (const request of requests) {
    isError(t, await http1(publicAddress, request), 400, 'INVALID_ARGUMENT', NOT_HTTP);
  }
});

test('HTTP - HTTP/1.0 and an Upgrade get a normal response', async (t) => {
  const { publicAddress, key } = t.context;
  const authorization = `Authorization: Bearer ${key}\r\n`;
  const json = 'Content-Type: application/json\r\nContent-Length: 15\r\n';
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n';
  const h2c = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
  t.is((await http1(publicAddress, `GET /pets HTTP/1.0\r\n${authorization}\r\n`)).status, 200);
  for (const to of [upgrade, h2c]) {
    t.is((await http1(publicAddress, `GET /pets HTTP/1.1\r\nHost: x\r\n${to}${authorization}\r\n`)).status, 200);
  }
  t.is(
    (await http1(publicAddress, `POST /categories HTTP/1.0\r\n${authorization}${json}\r\n{"name":"Cats"}`)).status,
    201,
  );
  isError(t, await http1(publicAddress, 'GET /pets HTTP/1.0\r\n\r\n'), 401, 'API_KEY_MISSING');
  isError(t, await http1(publicAddress, `GET /pets HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`), 401, 'API_KEY_MISSING');
});

test('HTTP - CONNECT is a 404 ROUTE_NOT_FOUND', async (t) => {
  const { publicAddress, key } = t.context;
  const headers = { authorization: `Bearer ${key}` };
  const tunnel = `CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  isError(t, await http1(publicAddress, tunnel), 404, 'ROUTE_NOT_FOUND');
  isError(t, await http2(publicAddress, { method: 'CONNECT', headers }), 404, 'ROUTE_NOT_FOUND');
});

test('headers - internal headers from a caller have no effect', async (t) => {
  const { rest } = t.context;
  const id = await rest.category('Cats');
  const expected = { id, name: 'Cats' };
  const spoofed = [
    { 'x-petstore-body-type': 'text/plain' },
    { 'x-petstore-error': '{"code":"X","message":"x","status":418}' },
    { 'x-envoy-original-path': '/pets?colour=red' },
    { 'x-envoy-original-path': '/nope', 'x-envoy-original-method': 'DELETE' },
    { 'x-envoy-original-method': 'DELETE' },
    { 'x-http-method-override': 'DELETE' },
    { 'x-envoy-upstream-rq-timeout-ms': '1', 'x-envoy-expected-rq-timeout-ms': '1' },
    { 'x-envoy-decorator-operation': 'x', 'x-envoy-internal': 'true', 'x-envoy-force-trace': 'true' },
    { 'grpc-timeout': '1n' },
    { 'grpc-timeout': 'soon' },
    { 'grpc-encoding': 'gzip', 'grpc-accept-encoding': 'gzip' },
    { 'grpc-encoding': 'nonsense', 'grpc-accept-encoding': 'nonsense' },
    { 'grpc-status': '13', 'grpc-message': 'x' },
    { accept: 'text/html' },
    { 'accept-encoding': 'gzip, br' },
  ];
  for (const headers of spoofed) {
    const { status, body } = await rest.get(`/categories/${id}`, { headers });
    t.is(status, 200, JSON.stringify(headers));
    t.deepEqual(body, expected);
    const changed = await rest.send('PATCH', `/categories/${id}`, { json: { name: 'Cats' }, headers });
    t.is(changed.status, 200, JSON.stringify(headers));
    const form = { raw: '{}', headers: { ...headers, 'content-type': 'text/plain' } };
    isError(t, await rest.send('PATCH', `/categories/${id}`, form), 400, 'UNSUPPORTED_CONTENT_TYPE');
    isError(t, await rest.get('/categories/999999', { headers }), 404, 'CATEGORY_NOT_FOUND');
    isError(t, await rest.get('/nope', { headers }), 404, 'ROUTE_NOT_FOUND');
  }
});

test('headers - every response has an x-request-id, and no header of Envoy or its filters', async (t) => {
  const { rest } = t.context;
  const ids = new Set<string>();
  for (const path of ['/pets', '/pets/999999', '/nope', '/pets/abc', '/pets?limit=0', '/healthz']) {
    const { headers } = await rest.get(path);
    ids.add(headers.get('x-request-id') ?? '');
    t.is(headers.get('server'), 'petstore');
    t.false(headers.has('x-powered-by') || headers.has('via'));
    t.deepEqual(
      [...headers.keys()].filter((name) => /^x-(petstore|envoy)-/.test(name)),
      [],
    );
  }
  t.is(ids.size, 6);
  t.false(ids.has(''));
});
