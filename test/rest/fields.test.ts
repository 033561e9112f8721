/**
 * What the fields of bodies and queries accept, and how values are written in JSON, through the transcoder; then bodies
 * as a whole: content type, JSON, size, however they are sent. In process test/rpc/validation.test.ts has a table of
 * the rules, test/rest/json.test.ts the JSON of every type, and test/envoy/lua.test.ts lists.
 */
import { gzipSync } from 'node:zlib';
import { Plan } from '../../gen/apiplatform/admin/v1/admin.ts';
import { callFrom } from '../support/calls/callers.ts';
import { type RestResponse, withBody } from '../support/calls/rest-client.ts';
import { http2 } from '../support/calls/wire.ts';
import { checkAgainstDescription } from '../support/contract/description.ts';
import { isError, isInvalid } from '../support/contract/errors.ts';
import { requestsTo } from '../support/contract/resources.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';

type Send = (fields: object) => Promise<RestResponse>;

type Shapes = 'pets' | 'categories' | 'orders' | 'inventory';

const test = sharing(undefined, async (t) => {
  const stack = await startTestStack(t);
  const { rest } = stack;
  const categoryId = await rest.category();
  const petId = await rest.pet({ categoryId });
  const { id: orderId } = await rest.order();
  const to = (whole: object, ...targets: readonly string[]) =>
    targets.map((target): Send => {
      const [method = '', path = ''] = target.split(' ');
      return (fields) => rest.send(method, path, { json: { ...whole, ...fields } });
    });
  const pet = { name: 'Tom', categoryId, status: 'sold' };
  const category = { name: 'Cats', description: 'Small felines' };
  const shapes: Readonly<Record<Shapes, readonly Send[]>> = {
    // PATCH before PUT, so that it has something to change.
    pets: to(pet, 'POST /pets', `PATCH /pets/${petId}`, `PUT /pets/${petId}`),
    categories: to(category, 'POST /categories', `PATCH /categories/${categoryId}`, `PUT /categories/${categoryId}`),
    orders: to({}, 'POST /store/orders', `PATCH /store/orders/${orderId}`),
    inventory: to({}, `PUT /store/inventory/${petId}`),
  };
  return { ...stack, ...shapes };
});

const JSON_TYPE = { 'content-type': 'application/json' };
const CAT = '😺';
const FLAG = '🏳️‍🌈'; // one grapheme of four characters
const CONTROLLED = ['\0', '\t', '\n', '\r', '\x1b', '\x1f', '\x7f', '\x80', '\x9f'].map((control) => `a${control}b`);
const changed = (sent: string, stored: string) => ({ sent, stored });
const NAMES = [CAT.repeat(200), FLAG.repeat(50), 'Ünï cödé  two spaces', '\ufeff', changed('\u2003 Tom\u00a0', 'Tom')];
const TOO_LONG = [' x'.repeat(101), CAT.repeat(201), `${FLAG.repeat(50)}!`];
const INVALID_NAMES = ['', '\u00a0', ...TOO_LONG, ...CONTROLLED, '\0', 5, true];
const STATUSES = ['available', 'pending', 'sold'];
const INVALID_STATUSES = ['PET_STATUS_UNSPECIFIED', 0, 4, -1, 'SOLD', '', true, 1.5];
const TEXTS = ['', ' ', CAT.repeat(2_000), 'line\nline\t\u0001'];
const TIMES = [
  ...['0001-01-01T00:00:00Z', '2027-01-02T03:04:05.123456789Z', '9999-12-31T23:59:59.999999999Z'],
  changed('2027-01-02T03:04:05.5Z', '2027-01-02T03:04:05.500Z'),
  changed('2027-01-02T03:04:05+05:30', '2027-01-01T21:34:05Z'),
];
const NO_NUMBERS = [2_147_483_648, 1e30, 1.5, 'many', '', true];

const BOUNDS: readonly (readonly [Shapes, field: string, accepted: readonly unknown[], refused: readonly unknown[]])[] =
  [
    ['pets', 'name', NAMES, INVALID_NAMES],
    ['pets', 'status', STATUSES, INVALID_STATUSES],
    ['pets', 'categoryId', [], ['', '1.5', ' 1', 1.5, 1e30, '9223372036854775808', true]],
    ['categories', 'name', NAMES, INVALID_NAMES],
    ['categories', 'description', TEXTS, [CAT.repeat(2_001), 'a\0b', 5, false]],
    ['orders', 'quantity', [1, 1_000_000], [0, -1, 1_000_001, ...NO_NUMBERS]],
    ['orders', 'complete', [], [0, 1, 'maybe', '']],
    ['orders', 'shipDate', TIMES, ['tomorrow', 1_798_858_800, true, {}, { seconds: 5 }]],
    ['inventory', 'quantity', [0, 1_000_000_000], [-1, 1_000_000_001, ...NO_NUMBERS]],
  ];

for (const [shapes, name, accepted, refused] of BOUNDS) {
  test(`${shapes} - ${name} is what its rule says, in each operation, and a 400 names it`, async (t) => {
    for (const send of t.context[shapes]) {
      for (const value of accepted) {
        const { sent, stored } =
          typeof value === 'object' ? (value as ReturnType<typeof changed>) : { sent: value, stored: value };
        const { status, text, body } = await send({ [name]: sent });
        t.true(status === 200 || status === 201, text);
        t.deepEqual(body[name], stored);
      }
      for (const value of refused) isInvalid(t, await send({ [name]: value }), name);
    }
  });
}

test('bodies - an unknown field is ignored, whatever its value', async (t) => {
  const { rest } = t.context;
  const nested = { marks: ['a', 1, null], owner: { name: 5, pets: [{}] } };
  const unknown = { colour: 'red', legs: 4, nothing: null, Name: '', ...nested };
  const { body: category } = await rest.post('/categories', { ...unknown, name: 'Cats' });
  t.deepEqual(category, { id: category.id, name: 'Cats' });
  const { body: order } = await rest.post('/store/orders', unknown);
  t.deepEqual(order, { id: order.id, quantity: 1, complete: false });
  t.deepEqual((await rest.patch(`/store/orders/${order.id}`, unknown)).body, order);
});

/** What JSON must escape, and what is next to it; all that is no control character is a name too. */
const PRINTED = ['"\\\\" \\u0022 {"id":"7"},[]% $1 <b>&', "人'/\u2028\u2029\u00a0|\ufeff\u{e0041}\uffff 🏳️‍🌈 e\u0301"];
const CONTROLS = Array.from({ length: 31 }, (_, code) => String.fromCharCode(code + 1)).join('');

/** A string in JSON with every character as an escape; surrogate pairs are two. */
function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index).toString(16));
  return `"${units.map((unit) => `\\u${unit.padStart(4, '0')}`).join('')}"`;
}

test('names and descriptions - are returned exactly as they were sent, names trimmed', async (t) => {
  const { rest } = t.context;
  for (const quote of [JSON.stringify as typeof escaped, escaped]) {
    for (const name of PRINTED) {
      const description = `${CONTROLS}${name}\u007f\u0085`;
      const raw = `\r\n{ "name"\t:${quote(`\u2003 ${name}\u00a0`)} ,"description": ${quote(description)}}\n`;
      const { body } = await rest.send('POST', '/categories', { raw, headers: JSON_TYPE });
      t.deepEqual(body, { id: body.id, name, description });
      const { body: pet } = await rest.post('/pets', { name, categoryId: body.id });
      t.deepEqual((await rest.get(`/pets?ids=${pet.id}`)).body, [{ ...pet, name }]); // a list of one
    }
  }
});

const BODY = '{"name":"Cats"}';
const SPOOFED = 'x-petstore-received'; // only Envoy may tell its filters how much has come
/** How a body can be sent: in one piece, whose length the headers tell, or in chunks or frames. */
const TRANSPORTS = (['HTTP/1.1', 'HTTP/2'] as const).flatMap((protocol) =>
  [true, false].map((isSized) => ({ protocol, isSized })),
);
type Transport = (typeof TRANSPORTS)[number];

async function send(
  { publicAddress, key }: TestStack,
  { protocol, isSized }: Transport,
  type: string,
  body = BODY,
  path = '/categories',
  method = 'POST',
): Promise<RestResponse> {
  const inChunks = protocol === 'HTTP/1.1' ? { 'transfer-encoding': 'chunked' } : {};
  const headers = {
    ...{ authorization: `Bearer ${key}`, [SPOOFED]: '99999' },
    ...(type === '' ? {} : { 'content-type': type }),
    ...(isSized ? { 'content-length': String(Buffer.byteLength(body)) } : inChunks),
  };
  const door = { port: Number(publicAddress.split(':')[1]) };
  const received = await callFrom('127.0.0.1', door, protocol, { method, path, headers, body });
  checkAgainstDescription(method, path, received);
  return withBody(received);
}

test('Content-Type - is required by every operation with a body, and checked before the body', async (t) => {
  for (const { operation, method, path } of await requestsTo(t.context.rest)) {
    // A request to read or delete has a body only if it has a length.
    for (const transport of operation.bodyField === undefined ? TRANSPORTS.slice(0, 1) : TRANSPORTS) {
      for (const [type, body] of [
        ['text/plain', BODY],
        ['text/plain', '{'],
        ['', BODY],
        ['', '{'],
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

function deep(count: number): string {
  return '['.repeat(count) + ']'.repeat(count);
}

const IS_READ = '400 petId: pet 999999 does not exist';

const NO_TIMES = [
  ...['soon', ' 2026-01-01T00:00:00Z', '2026-01-01T00:00:00.Z', '2026-1-1T0:0:0Z', '2026-01-01T00:00:00+ 2:00'],
  ...['2026-01-01T00:00:00+24:00', '2026-01-01T00:00:00-00:60', '10000-01-01T00:00:00Z', ''],
  ...[
    '2026-02-30',
    '2026-02-29',
    '2100-02-29',
    '2026-04-31',
    '2026-13-01',
    '2026-00-01',
    '2026-01-00',
    '0000-01-01',
  ].map((day) => `${day}T00:00:00Z`),
  ...['24:00:00', '23:60:00', '23:59:60'].map((time) => `2028-02-29T${time}Z`),
];
const TIMES_TO_READ = [
  ...['2026-01-01t00:00:00z', '2026-01-01T00:00:00.5+02:00', '2026-01-01T00:00:00\\u005a'],
  ...['0001-01-01T01:00:00+01:00', '9999-12-31T22:59:59.9-01:00', '2026-01-01T00:00:00-23:59'],
  '2026-01-01T00:00:00.123456789000Z',
];

/** What POST /store/orders says to a body: a status and a message. */
const READ: readonly (readonly [body: string, said: string | RegExp])[] = [
  ...['1', '1.0', '1e0', '10E-1', '"1"', '"1.0"', '"100e-2"'].map(
    (one) => [`{"petId":999999,"quantity":${one}}`, IS_READ] as const,
  ),
  ['{"petId":9007199254740993.0}', '400 petId: pet 9007199254740993 does not exist'],
  ['{"petId":"-9.223372036854775808e18"}', '400 petId: pet -9223372036854775808 does not exist'],
  ...['-9223372036854775809', '"9223372036854775808"', '1e100'].map(
    (id) => [`{"petId":${id}}`, `400 petId: ${id} is out of range`] as const,
  ),
  ['{"quantity":1e10}', '400 quantity: 1e10 is out of range'],
  ['{"quantity":"-2147483649"}', '400 quantity: "-2147483649" is out of range'],
  ['{"quantity":-2147483648}', /^400 quantity: must be greater/],
  ['{"petId":9007199254740993.5}', '400 petId: 9007199254740993.5 is not a whole number'],
  ['{"quantity":"01"}', '400 quantity: "01" is not a whole number'],
  ['{"quantity":1,"quantity":2}', '400 quantity: is given more than once'],
  ['{"petId":1,"pet_id":1}', '400 petId: is given more than once'],
  ['{"petId":1,"pet\\u0049d":1}', '400 petId: is given more than once'],
  ['{"shipDate":null,"shipDate":null}', '400 shipDate: is given more than once'],
  ['{"x":[{"y":1,"y":1}]}', '400 "y": is given more than once'],
  ['{"é":1,"\\u00e9":2}', '400 "é": is given more than once'],
  ['{"\\ud83d\\ude3a":1,"😺":2}', '400 "😺": is given more than once'],
  ['{"a\\\\u0062":1,"a\\b":2,"petId":999999}', IS_READ],
  ['{"":1,"petId":999999}', IS_READ],
  [`{"x":1e999,"\\ud800":"\\udc00\\ud800","y":{"":[-1e999]},"z":${'9'.repeat(400)},"petId":999999}`, IS_READ],
  ['{"complete":1e999}', '400 complete: 1e999 is neither true nor false'],
  ['{"shipDate":5}', '400 shipDate: 5 is no RFC 3339 timestamp'],
  ...[
    ...NO_TIMES.map((time) => [time, 'is no RFC 3339 timestamp']),
    ['0001-01-01T00:59:59+01:00', 'is out of range'],
    ['9999-12-31T23:00:00-01:00', 'is out of range'],
    ['2026-01-01T00:00:00.1234567891Z', 'has more than nine digits of a second'],
  ].map(([time, problem]) => [`{"shipDate":"${time}"}`, `400 shipDate: "${time}" ${problem}`] as const),
  ...TIMES_TO_READ.map((time) => [`{"shipDate":"${time}","petId":999999}`, IS_READ] as const),
  ['{"petId":"99999\\u0039"}', IS_READ],
  ...['{}', '[true]', '"yes"', '"t"', '"1"', '"false"', '1'].map(
    (value) => [`{"complete":${value}}`, `400 complete: ${value} is neither true nor false`] as const,
  ),
  ...['null', '[]', '5', '"x"'].map((body) => [body, `400 body: ${body} is not an object`] as const),
  ['{"petId":1,}', "400 the request body can't be read: it is not JSON at byte 12"],
  ['\ufeff{}', "400 the request body can't be read: it begins with a byte order mark: send it without"],
  ...[deep(101), `{"x":${deep(100)}}`, `{"petId":${deep(100)}}`, `{"x":${'['.repeat(30_000)}`].map(
    (body) =>
      [body, /^400 the request body can't be read: its lists and objects are more than 100 deep at byte \d+$/] as const,
  ),
  [`{"x":${deep(99)},"petId":999999}`, IS_READ],
];

test('Bodies - each number, member and value is read as it is written, or refused in our own words', async (t) => {
  for (const [index, [raw, said]] of READ.entries()) {
    const path = `/store/orders${'/'.repeat(index % 4)}`; // slashes at the end mean nothing
    const { status, body } = await t.context.rest.send('POST', path, { raw, headers: JSON_TYPE });
    if (typeof said === 'string') t.is(`${status} ${body.message}`, said, raw);
    else t.regex(`${status} ${body.message}`, said, raw);
  }
  const post = async (path: string, raw: string) =>
    (await t.context.rest.send('POST', path, { raw, headers: JSON_TYPE })).body.message;
  t.regex(await post('/pets', '{"name":"Tom","categoryId":1,"status":"1"}'), /^status: "1" is none of available, /);
  t.regex(await post('/categories', '{"name":"\\ud83d"}'), /^name: "\\ud83d" has half of a surrogate pair/);
});

test('UNSUPPORTED_CONTENT_ENCODING - a body with a content coding is a 415, after the key', async (t) => {
  const { rest, key, publicAddress } = t.context;
  const raw = gzipSync('{"name":"Cats"}');
  const coded = (coding: string) => ({ raw, headers: { ...JSON_TYPE, 'content-encoding': coding } });
  for (const [request, coding, said] of [
    ['POST /categories', 'gzip', 'gzip'],
    ['PUT /pets/1', 'identity, GZIP', 'GZIP'],
    ['POST /nope', 'br', 'br'],
    ['DELETE /pets/1?colour=red', 'nonsense', 'nonsense'],
  ] as const) {
    const [method = '', path = ''] = request.split(' ');
    const response = await rest.send(method, path, coded(coding));
    const message = `a body with a content coding ("${said}") is not read: send it as it is`;
    isError(t, response, 415, 'UNSUPPORTED_CONTENT_ENCODING', message);
    t.is(response.headers.get('accept-encoding'), 'identity');
    isError(t, await rest.withKey(undefined).send(method, path, coded(coding)), 401, 'API_KEY_MISSING');
  }
  const json = { name: 'Cats' };
  t.is((await rest.send('POST', '/categories', { json, headers: { 'content-encoding': 'Identity' } })).status, 201);
  const sent = { 'content-encoding': 'gzip', authorization: `Bearer ${key}` };
  t.is((await rest.get('/pets', { headers: sent })).status, 200, 'without a body');
  const head = await http2(publicAddress, { method: 'HEAD', path: '/pets', headers: sent, body: '{}' });
  t.is(head.status, 415);
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
