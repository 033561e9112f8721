/** Bodies as a whole: content type, JSON, size, however they are sent. fields.test.ts has their values. */
import { gzipSync } from 'node:zlib';
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

test('Content-Type - is required by every operation with a body, and checked before the body', async (t) => {
  for (const { operation, method, path } of await requestsTo(t.context.rest)) {
    // A request to read or delete has a body only if it has a length.
    for (const transport of operation.bodyField === undefined ? [TRANSPORTS[0]] : TRANSPORTS) {
      for (const [type, body] of [
        ['text/plain', BODY],
        ['text/plain', '{'],
        ['', BODY],
      ] as const) {
        const response = await send(t.context, transport, type, body, path, method);
        isError(t, response, 400, 'UNSUPPORTED_CONTENT_TYPE');
      }
    }
  }
  for (const transport of TRANSPORTS) {
    t.is((await send(t.context, transport, 'Application/Json;charset=UTF-8')).status, 201);
    t.is((await send(t.context, transport, 'text/plain', '', '/store/orders')).status, 201, 'without a body');
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
  [`{"x":${'['.repeat(30_000)}`, "400 the request body can't be read: it is not JSON at byte 105"],
];

test('Bodies - each number, member and value is read as it is written, or refused in our own words', async (t) => {
  for (const [index, [raw, said]] of READ.entries()) {
    const path = `/store/orders${'/'.repeat(index % 4)}`; // slashes at the end mean nothing
    const { status, body } = await t.context.rest.send('POST', path, { raw, headers: JSON_TYPE });
    t.is(`${status} ${body.message}`, said, raw);
  }
  for (const status of [0, 99, 'dead']) {
    const { body } = await t.context.rest.send('POST', '/pets', { json: { name: 'Tom', categoryId: 1, status } });
    t.regex(body.message, /^status: .*is none of available, pending, sold$/);
  }
});

test('MALFORMED_BODY - a compressed body is a 400 that says why', async (t) => {
  const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' };
  const response = await t.context.rest.send('POST', '/categories', { raw: gzipSync('{"name":"Cats"}'), headers });
  const message = "the request body can't be read: it is not JSON at byte 1: send it without a Content-Encoding";
  isError(t, response, 400, 'MALFORMED_BODY', message);
});

const MAX = 65_536;

/** Orders of pets that do not exist, each with a space that is padded. The filters make the last ones longer. */
const PADDED = {
  '{"petId":999999 }': 999_999,
  '{"petId":1e6,"quantity":1e0 }': 1_000_000,
  '{"petId":999999,"": 0}': 999_999,
  [`{"petId":999999,"x":[${Array(9_000).fill('{"":1}').join()} ]}`]: 999_999,
};

test('BODY_TOO_LARGE - a body of 64 KiB is accepted, one byte more is a 413', async (t) => {
  const { operator } = t.context;
  for (const transport of TRANSPORTS) {
    for (const [body, petId] of Object.entries(PADDED)) {
      const order = (caller: TestStack, size: number) => {
        const padded = body.replace(' ', ' '.repeat(size - body.length + 1));
        return send(caller, transport, 'application/json', padded, '/store/orders');
      };
      const unused = { ...t.context, key: await operator.keyOf(Plan.PLAN_PRO) }; // Envoy asks about it
      for (const caller of [t.context, unused]) {
        isError(t, await order(caller, MAX), 400, 'UNKNOWN_PET', `petId: pet ${petId} does not exist`);
        for (const size of [MAX + 1, 3 * MAX]) {
          const message = 'the request body is larger than 64 KiB';
          isError(t, await order(caller, size), 413, 'BODY_TOO_LARGE', message);
        }
      }
    }
  }
});

test('INVALID_ARGUMENT - names the field for any body, query and value, also one that is no UTF-8', async (t) => {
  const inventory = 'PUT /store/inventory/1';
  for (const [request, raw, said] of [
    [inventory, `{"quantity":"${'x'.repeat(MAX - 15)}"}`, /^quantity: "x*xxx… is not a whole number$/],
    [`${inventory}?${'a'.repeat(6_000)}=1`, `{"quantity":"abc","x":"${'x'.repeat(MAX - 25)}"}`, /^a+/],
    [inventory, `{"quantity":"${'é'.repeat(150)}"}`, /^quantity: "é+…? is not a whole number$/], // cut in a character
    [inventory, `{"quantity":"a${'é'.repeat(150)}"}`, /^quantity: "aé+…? is not a whole number$/],
    ['POST /categories', Buffer.from('{"name":"a\xff"}', 'latin1'), /^(name: |the request body)/],
    ['PUT /pets/%ff', '{}', /^petId: /],
  ] as const) {
    const [method = '', path = ''] = request.split(' ');
    const { status, body } = await t.context.rest.send(method, path, { raw, headers: JSON_TYPE });
    t.is(status, 400);
    t.regex(body.message, said);
    t.notRegex(body.message, /RefuseRequest/);
  }
});
