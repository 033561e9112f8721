import anyTest, { type TestFn } from 'ava';
import { generateKey } from '../../../src/access/keys/format.ts';
import { BODY_TIMEOUT_MS } from '../../../src/config/constants.ts';
import { isError } from '../../support/contract.ts';
import type { RestResponse } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { http1, http2 } from '../../support/wire.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const MISSING = 'an API key is needed: send "Authorization: Bearer <API_KEY>"';
const INVALID = 'the API key is not valid: it is unknown, revoked or expired';

test('401 - without a header of the form Bearer <key> is API_KEY_MISSING', async (t) => {
  const { rest, key, publicAddress } = t.context;
  const anonymous = rest.withKey(undefined);
  const basic = `Basic ${Buffer.from(`user:${key}`).toString('base64')}`;
  const withoutBearer = `${MISSING}; this one has no "Bearer" before the key`;
  const anotherForm = `${MISSING}; this one has another form`;
  const cases: [headers: Record<string, string>, message: string][] = [
    [{}, MISSING],
    [{ authorization: '' }, MISSING],
    [{ 'x-api-key': key }, `${MISSING}; X-API-Key is not read`],
    [{ authorization: key }, withoutBearer],
    [{ authorization: key, 'x-api-key': key }, withoutBearer],
    [{ authorization: basic }, `${MISSING}; this one says "Basic"`],
    ...['Bearer', 'Bearer ', `Token ${key}`, `Bearer: ${key}`, `Bearer ${key} ${key}`, `Bearer${key}`].map(
      (authorization): [Record<string, string>, string] => [{ authorization }, anotherForm],
    ),
  ];
  for (const [headers, message] of cases) {
    const response = await anonymous.get('/pets', { headers });
    isError(t, response, 401, 'API_KEY_MISSING', message);
    t.is(response.headers.get('www-authenticate'), 'Bearer');
  }
  isError(t, await anonymous.get(`/pets?api_key=${key}&authorization=Bearer+${key}`), 401, 'API_KEY_MISSING', MISSING);
  const twice = `Authorization: Bearer ${key}\r\n`.repeat(2);
  isError(
    t,
    await http1(publicAddress, `GET /pets HTTP/1.1\r\nHost: x\r\n${twice}\r\n`),
    401,
    'API_KEY_MISSING',
    anotherForm,
  );
});

test('401 - a mistyped, unknown or malformed key is API_KEY_INVALID', async (t) => {
  const { rest, key } = t.context;
  const last = key.endsWith('x') ? 'y' : 'x';
  const mistyped = [
    key.slice(0, -1) + last,
    key.slice(0, -1),
    `${key}x`,
    key.toLowerCase(),
    key.replace('pst_', 'pso_'),
  ];
  for (const bad of [
    ...mistyped,
    generateKey(),
    generateKey('pso'),
    'x',
    'null',
    'undefined',
    `"${key}"`,
    `<${key}>`,
  ]) {
    const response = await rest.withKey(bad).get('/pets');
    isError(t, response, 401, 'API_KEY_INVALID', INVALID);
    t.is(response.headers.get('www-authenticate'), 'Bearer');
    t.false(response.text.includes(key.slice(4, -1)));
  }
});

test('Authorization - the scheme may be in any case, with spaces around the key', async (t) => {
  const { rest, key } = t.context;
  for (const authorization of [`bearer ${key}`, `BEARER ${key}`, `Bearer   ${key}`, `Bearer ${key}  `]) {
    t.is((await rest.withKey(undefined).get('/pets', { headers: { authorization } })).status, 200);
  }
});

test('401 - is the only error for a caller without a valid key, whatever else is wrong', async (t) => {
  const { rest, publicAddress } = t.context;
  const json = { 'content-type': 'application/json' };
  for (const [key, code, message] of [
    [undefined, 'API_KEY_MISSING', MISSING],
    [generateKey(), 'API_KEY_INVALID', INVALID],
  ] as const) {
    const caller = rest.withKey(key);
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const h2 = { publicAddress, headers: { ...json, ...authorization } };
    const responses: [what: string, RestResponse][] = [
      ['a valid request', await caller.get('/pets')],
      ['a valid write', await caller.post('/categories', { name: 'Cats' })],
      ['an unknown path', await caller.get('/nope')],
      ['the root', await caller.get('/')],
      ['an internal path', await caller.post('/petstore.edge.v1.EdgeService/Refuse', {})],
      ['a wrong method', await caller.send('DELETE', '/pets')],
      ['a method that no path has', await caller.send('OPTIONS', '/pets')],
      ['an unknown pet', await caller.get('/pets/999999')],
      ['a malformed id', await caller.get('/pets/abc')],
      ['an unknown parameter', await caller.get('/pets?colour=red')],
      ['a bad parameter', await caller.get('/pets?limit=0')],
      ['a parameter of the wrong type', await caller.get('/pets?limit=abc')],
      ['a bad page token', await caller.get('/pets?pageToken=x')],
      ['broken JSON', await caller.send('POST', '/pets', { raw: '{', headers: json })],
      ['JSON that only the transcoder accepts', await caller.send('POST', '/pets', { raw: "{'a':1,}", headers: json })],
      ['a field of the wrong type', await caller.post('/pets', { categoryId: 'abc' })],
      ['a missing field', await caller.post('/pets', {})],
      ['no content type', await caller.send('POST', '/pets', { raw: '{}', headers: { 'content-type': '' } })],
      [
        'another content type',
        await caller.send('POST', '/pets', { raw: 'a=b', headers: { 'content-type': 'text/plain' } }),
      ],
      ['a body that is too large', await caller.send('POST', '/pets', { raw: ' '.repeat(1_048_577), headers: json })],
      [
        'a body that is far too large',
        await caller.send('POST', '/nope', { raw: ' '.repeat(5_000_000), headers: json }),
      ],
      ['CONNECT', await http2(publicAddress, { method: 'CONNECT', headers: authorization })],
      [
        'an unknown path over HTTP/2',
        await http2(publicAddress, { method: 'GET', path: '/nope', headers: h2.headers }),
      ],
      [
        'broken JSON over HTTP/2',
        await http2(publicAddress, { method: 'POST', path: '/pets', headers: h2.headers, body: '{' }),
      ],
    ];
    const shown = [
      'connection',
      'content-length',
      'content-type',
      'date',
      'server',
      'www-authenticate',
      'x-request-id',
    ];
    for (const [what, { status, headers, body }] of responses) {
      t.is(status, 401, what);
      t.deepEqual(body, { code, message, status }, what);
      const others = [...headers.keys()].filter(
        (name) => !shown.includes(name) && !/^(x-ratelimit|keep-alive)/.test(name),
      );
      t.deepEqual(others, [], what);
    }
  }
});

test('HEAD without a key - is 401 with WWW-Authenticate and no body', async (t) => {
  const anonymous = t.context.rest.withKey(undefined);
  for (const path of ['/pets', '/pets/1', '/nope']) {
    const { status, headers } = await anonymous.send('HEAD', path);
    t.is(status, 401);
    t.is(headers.get('www-authenticate'), 'Bearer');
    t.is(headers.get('content-type'), 'application/json');
  }
});

test('401 - is sent before the body has arrived, whatever its content type', async (t) => {
  const { publicAddress } = t.context;
  const started = Date.now();
  for (const type of ['application/json', 'text/plain', 'application/grpcx', 'application/grpc-web+json']) {
    const head = `POST /pets HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: 100\r\n\r\n{`;
    isError(t, await http1(publicAddress, head), 401, 'API_KEY_MISSING', MISSING);
  }
  t.true(Date.now() - started < BODY_TIMEOUT_MS / 2);
});
