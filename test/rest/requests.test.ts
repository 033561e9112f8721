/**
 * What is wrong with a request, in the order in which it is judged: 401, then 413, then 404 and 405, then 400. Which
 * values the fields of a body and a query may have, and what a body may be: fields.test.ts.
 */
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { http1, http2 } from '../support/calls/wire.ts';
import { isError } from '../support/contract/errors.ts';
import { PUBLIC } from '../support/contract/resources.ts';
import { stackTest } from '../support/service/shared-stack.ts';

const test = stackTest();

const MISSING = 'an API key is needed: send "Authorization: Bearer <API_KEY>"';
const INVALID = 'the API key is not valid: it is unknown, revoked or expired';
const JSON_TYPE = { 'content-type': 'application/json' };
const FORM = { raw: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
const BROKEN = { raw: '{', headers: JSON_TYPE };
const MAX = 65_536;
const spaces = (size: number) => ({ raw: ' '.repeat(size), headers: JSON_TYPE });

test('401 - without a header of the form Bearer <key> is API_KEY_MISSING', async (t) => {
  const { rest, key, publicAddress } = t.context;
  const anonymous = rest.withKey(undefined);
  const cases: Record<string, string>[] = [
    {},
    { 'x-api-key': key },
    ...[key, 'Bearer', `Bearer${key}`, `Bearer ${key} ${key}`].map((authorization) => ({ authorization })),
    { authorization: `Basic ${btoa(`user:${key}`)}` },
  ];
  for (const headers of cases) {
    isError(t, await anonymous.get('/pets', { headers }), 401, 'API_KEY_MISSING', MISSING);
  }
  isError(t, await anonymous.get(`/pets?api_key=${key}&authorization=Bearer+${key}`), 401, 'API_KEY_MISSING', MISSING);
  const twice = `Authorization: Bearer ${key}\r\n`.repeat(2);
  const response = await http1(publicAddress, `GET /pets HTTP/1.1\r\nHost: x\r\n${twice}\r\n`);
  isError(t, response, 401, 'API_KEY_MISSING', MISSING);
});

test('401 - is the only error for a caller without a valid key, whatever else is wrong', async (t) => {
  const { rest, key, publicAddress } = t.context;
  const shown =
    /^(connection|content-(length|type)|date|keep-alive|server|www-authenticate|(x-)?ratelimit.*|x-request-id)$/;
  for (const [wrong, code, message] of [
    [undefined, 'API_KEY_MISSING', MISSING],
    [generateKey(), 'API_KEY_INVALID', INVALID],
    [key.slice(0, -1), 'API_KEY_INVALID', INVALID],
    [generateKey('operator'), 'API_KEY_INVALID', INVALID],
  ] as const) {
    const caller = rest.withKey(wrong);
    const authorization = wrong === undefined ? {} : { authorization: `Bearer ${wrong}` };
    const headers = { ...JSON_TYPE, ...authorization };
    const paths = ['/pets', '/events/stream', '/nope', '/pets/abc', '/pets?colour=red', '/pets?pageToken=x'];
    const untyped = { raw: '{}', headers: { 'content-type': '' } };
    const bodies = [BROKEN, untyped, FORM, spaces(16 * MAX + 1)];
    const responses = await Promise.all([
      ...paths.map((path) => caller.get(path)),
      ...['DELETE', 'OPTIONS'].map((method) => caller.send(method, '/pets')),
      ...['/categories', '/apiplatform.edge.v1.EdgeService/Refuse'].map((path) => caller.post(path, { name: 'Cats' })),
      ...bodies.map((body) => caller.send('POST', '/pets', body)),
      caller.send('POST', '/nope', spaces(5_000_000)),
      http2(publicAddress, { method: 'CONNECT', headers: authorization }),
      http2(publicAddress, { method: 'GET', path: '/nope', headers }),
      http2(publicAddress, { method: 'POST', path: '/pets', headers, body: '{' }),
    ]);
    for (const [index, response] of responses.entries()) {
      isError(t, response, 401, code, message);
      const challenge = `Bearer realm="petstore"${wrong === undefined ? '' : ', error="invalid_token"'}`;
      t.is(response.headers.get('www-authenticate'), challenge);
      const others = [...response.headers.keys()].filter((name) => !shown.test(name));
      t.deepEqual(others, [], `response ${index}`);
    }
    for (const path of ['/pets', '/nope']) t.is((await caller.send('HEAD', path)).status, 401);
  }
});

/** The methods of each path, with the id 1. A stream has no end, and tests of its own. */
const ROUTES = PUBLIC.filter(({ isStream }) => !isStream).flatMap(({ routes }) => routes);
const ALLOWED = Map.groupBy(
  [...ROUTES, ...['GET', 'HEAD'].map((method) => ({ method, template: '/docs/page.js' }))],
  ({ template }) => template.replace(/\{\w+\}/, '1'),
);

test('405 - every path allows only its methods, as its Allow header says', async (t) => {
  const { rest } = t.context;
  for (const [path, routes] of ALLOWED) {
    const methods = routes.map(({ method }) => method).sort();
    const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter((one) => !methods.includes(one));
    for (const method of others) {
      for (const [written, query] of [
        [path, ''],
        [`${path}/`, '?colour=red'],
      ]) {
        const response = await rest.send(method, `${written}${query}`, method === 'POST' ? { json: {} } : {});
        const message = `${written} does not answer to ${method}; it answers to ${methods.join(', ')}`;
        isError(t, response, 405, 'METHOD_NOT_ALLOWED', message);
        t.is(response.headers.get('allow'), methods.join(', '));
      }
    }
  }
});

const NO_PATHS = [
  ...['/', '//pets', '/Pets', '/petsx', '/pets/1/2', '/store/', '/healthz/x', '/%2Fpets', '/pets%2F1', '/..%2fpets'],
  ...['/docs/pageXjs', '/apiplatform.edge.v1.EdgeService/Refuse', '/grpc.health.v1.Health/Check'],
];

test('404 - an unknown path is ROUTE_NOT_FOUND', async (t) => {
  const { rest } = t.context;
  for (const path of NO_PATHS) {
    const response = await rest.get(`${path}?secret=1`);
    isError(t, response, 404, 'ROUTE_NOT_FOUND', `nothing answers to GET ${path}`);
    t.false(response.headers.has('allow'));
    isError(t, await rest.send('OPTIONS', path), 404, 'ROUTE_NOT_FOUND', `nothing answers to OPTIONS ${path}`);
  }
  for (const long of [`/${'x'.repeat(20_000)}`, `/nope?x=${'x'.repeat(17_000)}`]) {
    const { body } = await rest.get(long);
    t.is(body.code, 'ROUTE_NOT_FOUND');
    t.true(body.message.length < 1_000);
  }
});

/** Requests with several faults, and the error that comes first. */
const FIRST: readonly (readonly [string, object, number, string])[] = [
  ...['POST /nope', 'PUT /pets', 'POST /pets?colour=red'].map(
    (request) => [request, { ...spaces(MAX + 1), headers: FORM.headers }, 413, 'BODY_TOO_LARGE'] as const,
  ),
  ...[FORM, BROKEN].flatMap((bad) => [
    ['POST /nope?colour=red', bad, 404, 'ROUTE_NOT_FOUND'] as const,
    ['PUT /pets?colour=red', bad, 405, 'METHOD_NOT_ALLOWED'] as const,
  ]),
  ['PUT /pets/999999', FORM, 400, 'UNSUPPORTED_CONTENT_TYPE'],
  ['PUT /pets/999999', BROKEN, 400, 'MALFORMED_BODY'],
  ['PUT /pets/999999', { json: { name: '' } }, 400, 'INVALID_ARGUMENT'],
  ['GET /pets/999999?colour=red', {}, 400, 'INVALID_ARGUMENT'],
  ['DELETE /categories/999999?colour=red', {}, 400, 'INVALID_ARGUMENT'],
];

test('order of errors - size of the body, path and method, content type, body or query, the method', async (t) => {
  for (const [request, sent, status, code] of FIRST) {
    const [method = '', path = ''] = request.split(' ');
    isError(t, await t.context.rest.send(method, path, sent), status, code);
  }
});

const UNKNOWN = 'is not a query parameter here';
/** What is said of each; nothing of what is read. */
const QUERIES: readonly (readonly [path: string, said?: string])[] = [
  ...['&&limit=5&', 'st%61tus=so%6cd', 'ids=1&&ids=2&'].map((query) => [`/pets?${query}`] as const),
  ['/pets/%31/?'],
  ['/pets?colour=red&limit=5&size=1&size=2', `colour: ${UNKNOWN}; size: ${UNKNOWN}`],
  [`/pets?${'ids=1&'.repeat(151)}`, 'ids: is one of more than 150 parameters'],
  [`/pets?pageToken=${'%41'.repeat(2_730)}`, 'The path: is longer than 8192 characters'],
  ...['%ff', '%EF%BF%BD%ff', '%ed%a0%80'].map(
    (text) => [`/pets?pageToken=${text}`, 'pageToken: is not UTF-8'] as const,
  ),
  ['/pets?ids&ids=1', 'ids: has no value'],
  ['/pets?status', 'status: has no value'],
  ['/store/orders?complete=TRUE', 'complete: "TRUE" is neither true nor false'],
  ['/pets?status&status=sold', 'status: is given more than once'],
  ['/pets?limit=5&l%69mit=6', 'limit: is given more than once'],
  ['/pets?status%3Dsold=1', `status=sold: ${UNKNOWN}`],
  ['/pets?st+atus=1', `st+atus: ${UNKNOWN}`],
  ['/pets?%ff=1', `\ufffd: ${UNKNOWN}`],
  ['/pets?ids=1,2', 'ids: "1,2" is not a whole number'],
  ['/pets?limit=x&a=1', `limit: "x" is not a whole number; a: ${UNKNOWN}`],
  ['/pets?limit=2147483648', 'limit: "2147483648" is out of range'],
  ['/pets?limit=%2B1', 'limit: "+1" is not a whole number'],
  ['/pets?status=01', 'status: "01" is none of available, pending, sold'],
  ['/pets/%ff', 'petId: is not UTF-8'],
  ['/store/orders/01?x=1', `orderId: "01" is not a whole number; x: ${UNKNOWN}`],
  ['/store/orders?complete=yes', 'complete: "yes" is neither true nor false'],
];

test('query - each parameter is read as it is written, or named in a 400; of many only some', async (t) => {
  const { rest } = t.context;
  await rest.pet();
  for (const [path, said] of QUERIES) {
    const { status, text } = await rest.get(path);
    t.deepEqual([status, status === 200 ? undefined : JSON.parse(text).message], [said ? 400 : 200, said], path);
  }
  const many = await rest.get(`/pets?${Array.from({ length: 1_000 }, (_, index) => `p${index}=1`).join('&')}`);
  isError(t, many, 400, 'INVALID_ARGUMENT');
  t.true(many.text.length < 2_000);
});

test('headers - internal headers from a caller have no effect', async (t) => {
  const { rest } = t.context;
  const path = `/categories/${await rest.category()}`;
  for (const headers of [
    { 'x-petstore-body-type': 'text/plain', 'x-petstore-error': '{"code":"X","message":"x","status":418}' },
    { 'x-envoy-original-path': '/nope?colour=red', 'x-envoy-original-method': 'DELETE' },
    { 'x-envoy-original-method': 'DELETE', 'x-http-method-override': 'DELETE' },
    { 'x-envoy-upstream-rq-timeout-ms': '1', 'x-envoy-expected-rq-timeout-ms': '1' },
    { 'grpc-timeout': '1n' },
    { 'grpc-timeout': 'soon' },
    { 'x-petstore-connect': '1' },
    { 'grpc-encoding': 'gzip', 'grpc-accept-encoding': 'gzip' },
    { 'grpc-encoding': 'nonsense', 'grpc-accept-encoding': 'nonsense' },
    { 'grpc-status': '13', 'grpc-message': 'x' },
    { accept: 'text/html', 'accept-encoding': 'gzip, br' },
  ] as Record<string, string>[]) {
    t.like(await rest.get(path, { headers }), { status: 200, body: { name: 'Cats' } }, JSON.stringify(headers));
    t.is((await rest.send('PATCH', path, { json: { name: 'Cats' }, headers })).status, 200, JSON.stringify(headers));
    for (const open of ['/events/stream', '/docs', '/healthz'])
      t.is((await rest.send('HEAD', open, { headers })).status, 200, open + JSON.stringify(headers));
    const form = { raw: '{}', headers: { ...headers, 'content-type': 'text/plain' } };
    isError(t, await rest.send('PATCH', path, form), 400, 'UNSUPPORTED_CONTENT_TYPE');
    isError(t, await rest.get('/categories/999999', { headers }), 404, 'CATEGORY_NOT_FOUND');
    isError(t, await rest.get('/nope', { headers }), 404, 'ROUTE_NOT_FOUND');
  }
});

/** Over HTTP/1.1 Envoy trims the value of a header, and refuses such a path. */
test('HTTP/2 - a space around a header, or a byte beyond ASCII in a query, is not lost', async (t) => {
  const { rest, key, publicAddress } = t.context;
  const path = `/categories/${await rest.category()}`;
  for (const [method, target, own, status, code] of [
    ...['k ', ' k', 'k\t', '\xff'].map((value) => {
      return ['POST', '/categories', { 'idempotency-key': value }, 400, 'INVALID_ARGUMENT'] as const;
    }),
    ['PATCH', path, { 'if-match': '"abc" ' }, 412, 'PRECONDITION_FAILED'],
    ['POST', '/categories', { 'content-type': 'text/plain ' }, 400, 'UNSUPPORTED_CONTENT_TYPE'],
    ...['POST /categories?\xff=1', 'GET /categories?pageToken=\xff', `DELETE ${path}?\xff`].map((request) => {
      const [verb = '', at = ''] = request.split(' ');
      return [verb, at, {}, 400, 'INVALID_ARGUMENT'] as const;
    }),
    ['GET', '/nope?\xff', {}, 404, 'ROUTE_NOT_FOUND'],
  ] as const) {
    const headers = { ...JSON_TYPE, authorization: `Bearer ${key}`, ...own };
    const body = method === 'GET' ? undefined : '{"name":"Dogs"}';
    isError(t, await http2(publicAddress, { method, path: target, headers, body }), status, code);
  }
  t.is((await rest.get(path)).body.name, 'Cats');
});

test('HTTP/2 - a path of any length and bytes has the error of a short one, or one that says its length', async (t) => {
  const { key, publicAddress } = t.context;
  const headers = { ...JSON_TYPE, authorization: `Bearer ${key}` };
  for (const long of ['\xff'.repeat(9_000), '\xff'.repeat(22_500), 'x'.repeat(22_500)]) {
    const send = (method: string, path: string, body?: string) =>
      http2(publicAddress, { method, path: path + long, headers, ...(body && { body }) });
    isError(t, await send('GET', '/nope/'), 404, 'ROUTE_NOT_FOUND');
    isError(t, await send('DELETE', '/nope?'), 404, 'ROUTE_NOT_FOUND');
    isError(t, await send('POST', '/nope/', '{'), 404, 'ROUTE_NOT_FOUND');
    for (const response of [await send('GET', '/pets?'), await send('POST', '/pets?', '{')])
      isError(t, response, 400, 'INVALID_ARGUMENT', 'The path: is longer than 8192 characters');
  }
});
