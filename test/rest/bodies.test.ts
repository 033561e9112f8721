/** Bodies as a whole: content type, JSON, size, however they are sent. fields.test.ts has their values. */
import { Plan } from '../../gen/apiplatform/admin/v1/admin.ts';
import { http1, http2 } from '../support/calls/wire.ts';
import { isError } from '../support/contract/errors.ts';
import { requestsTo } from '../support/contract/resources.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';

const test = stackTest();

const JSON_TYPE = { 'content-type': 'application/json' };
const BODY = '{"name":"Cats"}';
const SPOOFED = 'x-petstore-received'; // only Envoy may tell its filters how much has come
/** What is sent, and what the error says of it. checks.test.ts has more. */
const OTHER_TYPES = { '': 'nothing', 'text/plain': '"text/plain"' };

/** How a body can be sent: HTTP/1.1 in one piece or in chunks, HTTP/2 with and without its length. */
const TRANSPORTS = ['HTTP/1.1', 'HTTP/1.1, chunked', 'HTTP/2', 'HTTP/2, no length'] as const;

function send(
  { publicAddress, key }: TestStack,
  transport: (typeof TRANSPORTS)[number],
  type: string,
  body = BODY,
  path = '/categories',
  method = 'POST',
) {
  const length = Buffer.byteLength(body);
  if (transport.startsWith('HTTP/2')) {
    const typed = type === '' ? {} : { 'content-type': type };
    const sized = transport === 'HTTP/2' ? { 'content-length': length } : {};
    const headers = { authorization: `Bearer ${key}`, [SPOOFED]: '99999', ...typed, ...sized };
    return http2(publicAddress, { method, path, headers, body });
  }
  const typed = type === '' ? '' : `Content-Type: ${type}\r\n`;
  const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${SPOOFED}: 99999\r\n${typed}`;
  const chunk = length === 0 ? '' : `${length.toString(16)}\r\n${body}\r\n`;
  const rest =
    transport === 'HTTP/1.1'
      ? `Content-Length: ${length}\r\n\r\n${body}`
      : `Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`;
  return http1(publicAddress, Buffer.from(head + rest, 'latin1'));
}

for (const transport of TRANSPORTS) {
  test(`Content-Type - over ${transport} application/json is accepted, and nothing else`, async (t) => {
    t.is((await send(t.context, transport, 'Application/Json;charset=UTF-8')).status, 201);
    for (const [type, said] of Object.entries(OTHER_TYPES)) {
      const message = `a request with a body must say "Content-Type: application/json"; this one says ${said}`;
      isError(t, await send(t.context, transport, type), 400, 'UNSUPPORTED_CONTENT_TYPE', message);
    }
    t.is((await send(t.context, transport, 'text/plain', '', '/store/orders')).status, 201, 'without a body');
  });
}

test('Content-Type - is required by every operation with a body, and checked before the body', async (t) => {
  for (const { operation, method, path } of await requestsTo(t.context.rest)) {
    // A request to read or delete has a body only if it has a length.
    const transport = operation.bodyField === undefined ? 'HTTP/1.1' : 'HTTP/1.1, chunked';
    for (const body of [BODY, '{']) {
      const response = await send(t.context, transport, 'text/plain', body, path, method);
      isError(t, response, 400, 'UNSUPPORTED_CONTENT_TYPE');
    }
  }
});

/** What POST /store/orders says to a body: the start of a status and a message. test/envoy/bodies.test.ts has lists. */
const READ: readonly (readonly [body: string, said: string])[] = [
  ...['1', '1.0', '1e0', '10E-1', '"1"', '"1.0"', '"100e-2"'].map(
    (one) => [`{"petId":999999,"quantity":${one}}`, '400 petId: pet 999999 does not exist'] as const,
  ),
  ['{"petId":9007199254740993.0}', '400 petId: pet 9007199254740993 does not exist'],
  ['{"petId":"-9.223372036854775808e18"}', '400 petId: pet -9223372036854775808 does not exist'],
  ['{"petId":-9223372036854775809}', '400 petId: -9223372036854775809 is out of range'],
  ['{"petId":"9223372036854775808"}', '400 petId: "9223372036854775808" is out of range'],
  ['{"petId":1e100}', '400 petId: 1e100 is out of range'],
  ['{"quantity":1e10}', '400 quantity: "10000000000" is out of range'],
  ['{"petId":9007199254740993.5}', '400 petId: 9007199254740993.5 is not a whole number'],
  ['{"quantity":"01"}', '400 quantity: "01" is not a whole number'],
  ['{"quantity":1,"quantity":2}', '400 quantity: is given more than once'],
  ['{"petId":1,"pet_id":1}', '400 petId: is given more than once'],
  ['{"petId":1,"pet\\u0049d":1}', '400 petId: is given more than once'],
  ['{"shipDate":null,"shipDate":null}', '400 shipDate: is given more than once'],
  ['{"x":[{"y":1,"y":1}]}', '400 "y": is given more than once'],
  ['{"":1,"petId":999999}', '400 petId: pet 999999 does not exist'],
  ['{"shipDate":5}', '400 shipDate: 5 is no RFC 3339 timestamp'],
  ...['soon', ' 2026-01-01T00:00:00Z', '2026-01-01T00:00:00.Z', '2026-1-1T0:0:0Z', '2026-01-01T00:00:00+ 2:00'].map(
    (time) => [`{"shipDate":"${time}"}`, `400 shipDate: "${time}" is no RFC 3339 timestamp`] as const,
  ),
  ['{"shipDate":"2026-02-30T00:00:00Z"}', '400 shipDate: is no RFC 3339 timestamp'],
  ...['2026-01-01t00:00:00z', '2026-01-01T00:00:00.5+02:00', '2026-01-01T00:00:00\\u005a'].map(
    (time) => [`{"shipDate":"${time}","petId":999999}`, '400 petId: pet 999999 does not exist'] as const,
  ),
  ['{"petId":"99999\\u0039"}', '400 petId: pet 999999 does not exist'],
  ['{"complete":{}}', '400 complete: {} is neither true nor false'],
  ...['"yes"', '"t"', '"1"', '"false"', '1'].map(
    (value) => [`{"complete":${value}}`, `400 complete: ${value} is neither true nor false`] as const,
  ),
  ['{"complete":[true]}', '400 complete: [true] is neither true nor false'],
  ...['null', '[]', '5', '"x"'].map((body) => [body, `400 body: ${body} is not an object`] as const),
  ['{"petId":1,}', "400 the request body can't be read: it is not JSON at byte 12"],
];

test('Bodies - each number, member and value is read as it is written, or refused in our own words', async (t) => {
  for (const [raw, said] of READ) {
    const { status, body } = await t.context.rest.send('POST', '/store/orders', { raw, headers: JSON_TYPE });
    t.is(`${status} ${body.message}`, said, raw);
  }
  for (const status of [0, 99, 'dead']) {
    const { body } = await t.context.rest.send('POST', '/pets', { json: { name: 'Tom', categoryId: 1, status } });
    t.regex(body.message, /^status: .*is none of available, pending, sold$/);
  }
});

/** What the transcoder refuses, and one of each kind that only the filter does: test/envoy/lua.test.ts has them. */
const MALFORMED: readonly (string | Buffer)[] = [
  ...['{', '{"name"', '{"name":"Cats}', '{"name":"Cats"}}', '{"name":"Cats"}{}', '{,"name":"Cats"}', '{"name" "Cats"}'],
  ...['{"name":Cats}', '{"name":"Cats","x":[1 2]}', '{"name":"Cats","x":NaN}', 'name=Cats', '\ufeff{}', '{}\0'],
  ...["{'name':'Cats'}", '{name:"Cats"}', '{"name":"Cats",}', '{"name":"Cats","x":01}', '{"name":"Ca\nts"}'],
  Buffer.from('{"name":"Cats\xff\xfe"}', 'latin1'),
  `{"name":"Cats","x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
];

test('MALFORMED_BODY - a body that is not valid JSON is a 400', async (t) => {
  for (const raw of MALFORMED) {
    const response = await t.context.rest.send('POST', '/categories', { raw, headers: JSON_TYPE });
    isError(t, response, 400, 'MALFORMED_BODY', /^the request body can't be read: ./);
  }
});

test('Bodies - are read the same however many slashes are at the end of the path', async (t) => {
  for (const slashes of ['', '/', '//', '///']) {
    for (const [raw, said] of [
      ['{"quantity":1,"quantity":2}', /quantity.*more than once/],
      ['{"complete":"yes"}', /^complete: /],
      ['{"shipDate":{}}', /^shipDate: /],
      ['[]', /^body: /],
    ] as const) {
      const response = await t.context.rest.send('POST', `/store/orders${slashes}`, { raw, headers: JSON_TYPE });
      isError(t, response, 400, 'INVALID_ARGUMENT', said);
    }
  }
});

test('INVALID_ARGUMENT - names the field of a value that is no UTF-8, or is cut within a character', async (t) => {
  for (const [path, value, said] of [
    ['/store/orders', Buffer.from(`{"quantity":"${'é'.repeat(150)}"}`), /^quantity: "é+…? is not a whole number$/],
    ['/store/orders', Buffer.from(`{"quantity":"a${'é'.repeat(150)}"}`), /^quantity: "aé+…? is not a whole number$/],
    ['/pets', Buffer.from('{"name":"a\xff","categoryId":1}', 'latin1'), /^(name: |the request body)/],
  ] as const) {
    const { status, body } = await t.context.rest.send('POST', path, { raw: value, headers: JSON_TYPE });
    t.is(status, 400);
    t.false(/RefuseRequest/.test(body.message), body.message);
    t.regex(body.message, said);
  }
  t.false(/RefuseRequest/.test((await t.context.rest.get('/pets/%ff')).body.message));
});

test('INVALID_ARGUMENT - a body that is an array, a string or a number is a 400', async (t) => {
  for (const raw of ['[{"name":"Cats"}]', '"Cats"', '5', 'true']) {
    const response = await t.context.rest.send('POST', '/categories', { raw, headers: JSON_TYPE });
    isError(t, response, 400, 'INVALID_ARGUMENT', /^body: /);
  }
});

const MAX = 65_536;

test('BODY_TOO_LARGE - a body of 64 KiB is accepted, one byte more is a 413', async (t) => {
  const padded = (size: number) => BODY + ' '.repeat(size - BODY.length);
  const filled = (size: number) => `{"name":"Cats","x":"${'x'.repeat(size - 22)}"}`;
  for (const transport of TRANSPORTS) {
    for (const bodyOf of [padded, filled]) {
      t.is((await send(t.context, transport, 'application/json', bodyOf(MAX))).status, 201);
      const response = await send(t.context, transport, 'application/json', bodyOf(MAX + 1));
      isError(t, response, 413, 'BODY_TOO_LARGE', 'the request body is larger than 64 KiB');
    }
    for (const size of [MAX + 1, 3 * MAX]) {
      const unused = { ...t.context, key: await t.context.operator.keyOf(Plan.PLAN_PRO) }; // Envoy asks about it
      isError(t, await send(unused, transport, 'application/json', padded(size)), 413, 'BODY_TOO_LARGE');
    }
  }
});

/** Bodies that the filters make longer, by a little or by a seventh, and what the server says to 64 KiB of each. */
const GROWING = {
  '{"petId":1e6,"quantity":1e0}': 'petId: pet 1000000 does not exist',
  '{"petId":1e18}': 'petId: pet 1000000000000000000 does not exist',
  '{"petId":999999,"":0}': 'petId: pet 999999 does not exist',
  [`{"petId":999999,"x":[${Array(9_000).fill('{"":1}').join()}]}`]: 'petId: pet 999999 does not exist',
};

test('BODY_TOO_LARGE - is decided by the size as it is sent, not by what Envoy makes of it', async (t) => {
  for (const [body, message] of Object.entries(GROWING)) {
    const sized = (size: number) => body + ' '.repeat(size - body.length);
    for (const transport of TRANSPORTS) {
      const unused = { ...t.context, key: await t.context.operator.keyOf(Plan.PLAN_PRO) }; // Envoy asks about it
      for (const caller of [t.context, unused]) {
        const whole = await send(caller, transport, 'application/json', sized(MAX), '/store/orders');
        isError(t, whole, 400, 'UNKNOWN_PET', message);
        const larger = await send(caller, transport, 'application/json', sized(MAX + 1), '/store/orders');
        isError(t, larger, 413, 'BODY_TOO_LARGE');
      }
    }
  }
});

test('INVALID_ARGUMENT - names the field for any body of up to 64 KiB, query and value', async (t) => {
  const message = /^quantity: "x*(xxx…|abc") is not a whole number$/;
  const longValue = `{"quantity":"${'x'.repeat(MAX - 15)}"}`;
  const longBody = `{"quantity":"abc","x":"${'x'.repeat(MAX - 25)}"}`;
  for (const [raw, query, said] of [
    [longValue, '', message],
    [longBody, `?${'a'.repeat(6_000)}=1`, /^a+/],
  ] as const) {
    const response = await t.context.rest.send('PUT', `/store/inventory/1${query}`, { raw, headers: JSON_TYPE });
    isError(t, response, 400, 'INVALID_ARGUMENT', said);
  }
});
