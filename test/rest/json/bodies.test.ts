import anyTest, { type TestFn } from 'ava';
import { isError } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { http1, http2 } from '../../support/wire.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const BODY = '{"name":"Cats"}';
const JSON_TYPES = [
  'application/json',
  'APPLICATION/JSON',
  'application/json; charset=utf-8',
  'Application/Json;charset=UTF-8;x=y',
  'application/json ; a=b',
];
const OTHER_TYPES = [
  '', // no Content-Type header
  'application/x-www-form-urlencoded',
  'text/plain',
  'text/json',
  'application/jsonp',
  'application/json-patch+json',
  'application/vnd.api+json',
  'json',
  'text/plain; a=application/json',
  'application/grpcjson',
  'application/grpc-webjson',
  'multipart/form-data; boundary=x',
];

/** How a body can be sent: HTTP/1.1 in one piece or in chunks, HTTP/2 with and without its length. */
const TRANSPORTS = ['HTTP/1.1', 'HTTP/1.1, chunked', 'HTTP/2', 'HTTP/2, no length'] as const;

function post(
  { publicAddress, key }: TestStack,
  transport: (typeof TRANSPORTS)[number],
  type: string,
  path = '/categories',
) {
  const length = Buffer.byteLength(BODY);
  if (transport.startsWith('HTTP/2')) {
    const headers = { authorization: `Bearer ${key}`, ...(type === '' ? {} : { 'content-type': type }) };
    const sized = transport === 'HTTP/2' ? { 'content-length': length } : {};
    return http2(publicAddress, { method: 'POST', path, headers: { ...headers, ...sized }, body: BODY });
  }
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
  const typed = head + (type === '' ? '' : `Content-Type: ${type}\r\n`);
  return http1(
    publicAddress,
    transport === 'HTTP/1.1'
      ? `${typed}Content-Length: ${length}\r\n\r\n${BODY}`
      : `${typed}Transfer-Encoding: chunked\r\n\r\n${length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`,
  );
}

for (const transport of TRANSPORTS) {
  test(`Content-Type - over ${transport} application/json is accepted, with parameters and in any case`, async (t) => {
    for (const type of JSON_TYPES) {
      const { status, text } = await post(t.context, transport, type);
      t.is(status, 201, `${type}: ${text}`);
    }
  });

  test(`Content-Type - over ${transport} a body with another content type, or without one, is a 400`, async (t) => {
    for (const type of OTHER_TYPES) {
      const said = type === '' ? 'nothing' : `"${type}"`;
      const message = `a request with a body must say "Content-Type: application/json"; this one says ${said}`;
      isError(t, await post(t.context, transport, type), 400, 'UNSUPPORTED_CONTENT_TYPE', message);
    }
  });
}

test("Content-Type - curl's default for a body, and fetch's, are a 400", async (t) => {
  const { rest } = t.context;
  const form = { raw: BODY, headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  isError(t, await rest.send('POST', '/categories', form), 400, 'UNSUPPORTED_CONTENT_TYPE');
  const response = await fetch(`${rest.url}/categories`, {
    method: 'POST',
    headers: { authorization: `Bearer ${t.context.key}` },
    body: BODY,
  });
  t.is(response.status, 400);
  t.like(await response.json(), { code: 'UNSUPPORTED_CONTENT_TYPE' });
});

test('Content-Type - is required by every operation with a body, and checked before the body', async (t) => {
  const { rest } = t.context;
  const id = await rest.category();
  const headers = { 'content-type': 'text/plain' };
  for (const [method, path] of [
    ['POST', '/pets'],
    ['PUT', `/categories/${id}`],
    ['PATCH', `/categories/${id}`],
  ] as const) {
    for (const raw of [BODY, '{', 'x']) {
      isError(t, await rest.send(method, path, { raw, headers }), 400, 'UNSUPPORTED_CONTENT_TYPE');
    }
  }
  isError(t, await rest.send('PUT', '/store/inventory/1', { raw: '{}', headers }), 400, 'UNSUPPORTED_CONTENT_TYPE');
  isError(t, await rest.send('PATCH', '/store/orders/1', { raw: '{}', headers }), 400, 'UNSUPPORTED_CONTENT_TYPE');
});

test('Content-Type - a value with bytes beyond ASCII is a 400', async (t) => {
  const { publicAddress, key } = t.context;
  const fields = ['Host: x', `Authorization: Bearer ${key}`, `Content-Length: ${BODY.length}`];
  const head = `POST /categories HTTP/1.1\r\n${fields.join('\r\n')}\r\n`;
  const sent = (type: string) =>
    http1(publicAddress, Buffer.from(`${head}Content-Type: ${type}\r\n\r\n${BODY}`, 'latin1'));
  isError(t, await sent('text/pl\xe9in'), 400, 'UNSUPPORTED_CONTENT_TYPE', /"text\/pl\?in"$/);
  t.is((await sent('application/json; x=\xe9')).status, 201);
  t.is((await sent('application/json;\tx=y')).status, 201);
});

test('Content-Type - is ignored for a request without a body', async (t) => {
  const { publicAddress, rest, key } = t.context;
  const authorization = `Bearer ${key}`;
  const typed = { authorization, 'content-type': 'text/plain' };
  for (const headers of [{ authorization }, typed]) {
    t.is((await http2(publicAddress, { method: 'POST', path: '/store/orders', headers })).status, 201);
    t.is((await http2(publicAddress, { method: 'POST', path: '/store/orders', headers, body: '' })).status, 201);
    t.is((await http2(publicAddress, { method: 'GET', path: '/store/orders', headers })).status, 200);
  }
  const head = `POST /store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n`;
  t.is((await http1(publicAddress, `${head}\r\n`)).status, 201);
  t.is((await http1(publicAddress, `${head}Content-Type: text/plain\r\nContent-Length: 0\r\n\r\n`)).status, 201);
  t.is((await http1(publicAddress, `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)).status, 201);
  t.is((await rest.get('/pets', { headers: { 'content-type': 'text/plain' } })).status, 200);
});

const MALFORMED = [
  ...['{', '}', '{"name"', '{"name":', '{"name":"Cats"', '{"name":"Cats}', '{"name":"Cats"}}', '{"name":"Cats"}{}'],
  ...[
    '{"name":"Cats",}',
    '{"name":"Cats",,"description":""}',
    '{,"name":"Cats"}',
    '{"name" "Cats"}',
    '{"name"="Cats"}',
  ],
  ...["{'name':'Cats'}", `{"name":'Cats'}`, '{name:"Cats"}', '{"name":Cats}', '{"name":"Cats" "description":""}'],
  ...['{"name":"Cats","x":[1,]}', '{"name":"Cats","x":[1 2]}', '{"name":"Cats","x":[1}', '{"name":"Cats","x":{"y"}}'],
  ...['{"name":"Cats","x":01}', '{"name":"Cats","x":1.}', '{"name":"Cats","x":.5}', '{"name":"Cats","x":+1}'],
  ...['{"name":"Cats","x":01.5}', '{"name":"Cats","x":-00e1}', '{"name":"Cats","x":-.5}', '{"name":"Cats","x":0x1e}'],
  ...[
    '{"name":"Cats","x":NaN}',
    '{"name":"Cats","x":undefined}',
    '{"name":"Cats","x":True}',
    '{"name":"Cats","x":0x1}',
  ],
  ...['{"name":"Cats","x":"\\q"}', '{"name":"Cats","x":"\\u12"}', `{"name":"Cats","x":"\\'"}`, '{"name":"Ca\nts"}'],
  ...[
    '{"name":"Cats","description":"a\tb"}',
    '{"name":"Cats","x":"\u0001"}',
    '{"name":"Cats"}\0',
    '\u000b{"name":"Cats"}',
  ],
  ...[
    '{"name":"Cats"} // a comment',
    '/* a comment */ {"name":"Cats"}',
    'name=Cats',
    'Cats',
    '<name>Cats</name>',
    '\ufeff{}',
  ],
];

test('MALFORMED_BODY - a body that is not valid JSON is a 400', async (t) => {
  const { rest } = t.context;
  for (const raw of MALFORMED) {
    const response = await rest.send('POST', '/categories', { raw, headers: { 'content-type': 'application/json' } });
    isError(t, response, 400, 'MALFORMED_BODY', /^the request body can't be read: ./);
  }
});

test('MALFORMED_BODY - invalid UTF-8 and very deep nesting are a 400', async (t) => {
  const { rest } = t.context;
  const headers = { 'content-type': 'application/json' };
  const broken = Buffer.from('{"name":"Cats\xff\xfe"}', 'latin1');
  isError(t, await rest.send('POST', '/categories', { raw: broken, headers }), 400, 'MALFORMED_BODY');
  const deep = `{"name":"Cats","x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
  isError(t, await rest.send('POST', '/categories', { raw: deep, headers }), 400, 'MALFORMED_BODY');
  t.is((await rest.get('/categories')).status, 200);
});

test('INVALID_ARGUMENT - a body that is an array, a string or a number is a 400', async (t) => {
  const { rest } = t.context;
  for (const raw of ['[]', '[{"name":"Cats"}]', '"Cats"', '5', 'true']) {
    const response = await rest.send('POST', '/categories', { raw, headers: { 'content-type': 'application/json' } });
    isError(t, response, 400, 'INVALID_ARGUMENT', /^body: /);
  }
});

test('BODY_TOO_LARGE - a body of 64 KiB is accepted, one byte more is a 413', async (t) => {
  const { rest } = t.context;
  const MAX = 65_536;
  const headers = { 'content-type': 'application/json' };
  const padded = (size: number) => BODY + ' '.repeat(size - BODY.length);
  const filled = (size: number) => `{"name":"Cats","x":"${'x'.repeat(size - 22)}"}`;
  for (const bodyOf of [padded, filled]) {
    t.is(bodyOf(MAX).length, MAX);
    t.is((await rest.send('POST', '/categories', { raw: bodyOf(MAX), headers })).status, 201);
    for (const size of [MAX + 1, 2 * MAX, 100 * MAX]) {
      const response = await rest.send('POST', '/categories', { raw: bodyOf(size), headers });
      isError(t, response, 413, 'BODY_TOO_LARGE', 'the request body is larger than 64 KiB');
    }
  }
  const { publicAddress, key } = t.context;
  const typed = { authorization: `Bearer ${key}`, ...headers };
  for (const [body, status] of [
    [padded(MAX), 201],
    [padded(MAX + 1), 413],
  ] as const) {
    t.is((await http2(publicAddress, { method: 'POST', path: '/categories', headers: typed, body })).status, status);
  }
});

test('INVALID_ARGUMENT - names the field for any body of up to 64 KiB, query and value', async (t) => {
  const { rest } = t.context;
  const headers = { 'content-type': 'application/json' };
  for (const size of [60_000, 65_400, 65_500, 65_536]) {
    const longValue = `{"quantity":"${'x'.repeat(size - 15)}"}`;
    const longBody = `{"quantity":"abc","x":"${'x'.repeat(size - 25)}"}`;
    for (const [raw, query] of [
      [longValue, ''],
      [longBody, ''],
      [longBody, `?${'a'.repeat(6_000)}=1`],
    ] as const) {
      t.is(raw.length, size);
      const response = await rest.send('PUT', `/store/inventory/1${query}`, { raw, headers });
      isError(
        t,
        response,
        400,
        'INVALID_ARGUMENT',
        query === '' ? /^quantity: "x*(xxx…|abc") is not a whole number$/ : /^a+/,
      );
    }
  }
});
