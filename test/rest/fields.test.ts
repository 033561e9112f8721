/**
 * What the fields of bodies and queries accept, and how values are written in JSON, through the transcoder. In process
 * test/rpc/interceptors/validation.test.ts has a table of the rules, and test/rest/json.test.ts the JSON of every type.
 */
import type { RestResponse } from '../support/calls/rest-client.ts';
import { isInvalid } from '../support/contract/errors.ts';
import { LISTS } from '../support/contract/resources.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';

/** Sends a valid request in which these fields are replaced. */
type Send = (fields: object) => Promise<RestResponse>;

/** Each operation that accepts fields of a pet, a category, an order or an inventory entry. */
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
/** One grapheme of four characters. */
const FLAG = '🏳️‍🌈';
const CONTROLLED = ['\0', '\t', '\n', '\r', '\x1b', '\x1f', '\x7f', '\x80', '\x9f'].map((control) => `a${control}b`);
/** A name that is returned otherwise. */
class Trimmed {
  readonly sent = '\u2003 Tom\u00a0';
  readonly stored = 'Tom';
}
const NAMES = [CAT.repeat(200), FLAG.repeat(50), 'Ünï cödé  two spaces', '\ufeff', new Trimmed()];
const TOO_LONG = [' x'.repeat(101), CAT.repeat(201), `${FLAG.repeat(50)}!`];
const INVALID_NAMES = ['', '\u00a0', ...TOO_LONG, ...CONTROLLED, '\0', 5, true];
const STATUSES = ['available', 'pending', 'sold'];
const INVALID_STATUSES = ['PET_STATUS_UNSPECIFIED', 0, 4, -1, 'SOLD', '', true, 1.5];
const TEXTS = ['', ' ', CAT.repeat(2_000), 'line\nline\t\u0001'];
const NO_TIMES = [
  ...['', 'tomorrow', '2027-02-29T00:00:00Z', '10000-01-01T00:00:00Z'],
  ...[1_798_858_800, true, {}, { seconds: 5 }],
];
const NO_NUMBERS = [2_147_483_648, 1e30, 1.5, 'many', '', true];

/** Accepted values and refused ones. */
const BOUNDS: readonly (readonly [Shapes, field: string, accepted: readonly unknown[], refused: readonly unknown[]])[] =
  [
    ['pets', 'name', NAMES, INVALID_NAMES],
    ['pets', 'status', STATUSES, INVALID_STATUSES],
    ['pets', 'categoryId', [], ['', '1.5', ' 1', 1.5, 1e30, '9223372036854775808', true]],
    ['categories', 'name', NAMES, INVALID_NAMES],
    ['categories', 'description', TEXTS, [CAT.repeat(2_001), 'a\0b', 5, false]],
    ['orders', 'quantity', [1, 1_000_000], [0, -1, 1_000_001, ...NO_NUMBERS]],
    ['orders', 'complete', [], [0, 1, 'maybe', '']],
    ['orders', 'shipDate', [], NO_TIMES],
    ['inventory', 'quantity', [0, 1_000_000_000], [-1, 1_000_000_001, ...NO_NUMBERS]],
  ];

for (const [shapes, name, accepted, refused] of BOUNDS) {
  test(`${shapes} - ${name} is what its rule says, in each operation, and a 400 names it`, async (t) => {
    for (const send of t.context[shapes]) {
      for (const value of accepted) {
        const { sent, stored } = value instanceof Trimmed ? value : { sent: value, stored: value };
        const { status, text, body } = await send({ [name]: sent });
        t.true(status === 200 || status === 201, text);
        t.deepEqual(body[name], stored);
      }
      for (const value of refused) isInvalid(t, await send({ [name]: value }), name);
    }
  });
}

/** Spellings that are accepted, and those that are not. Of whole numbers a body has more (bodies.test.ts). */
const SPELLINGS = {
  id: {
    accepted: ['1', '0', '-0', '-1', '9007199254740993', '9223372036854775807', '-9223372036854775808'],
    refused: ['+1', '01', '-01', '00', '0x1', '1_0', ' 1', '1 ', '', 'abc', '1.5', '1,2', '9223372036854775808'],
  },
  flag: { accepted: ['true', 'false'], refused: ['TRUE', 'True', 't', 'y', 'no', '1', '0', ''] },
};

test('spellings - of numbers and truth values are the same in a path, a query and a body', async (t) => {
  const { rest } = t.context;
  const places = [
    ['id', (text: string) => rest.get(`/pets?ids=${encodeURIComponent(text)}`)],
    ['id', (text: string) => rest.get(`/pets?categoryId=${encodeURIComponent(text)}`)],
    ['id', (text: string) => rest.get(`/store/orders?petId=${encodeURIComponent(text)}`)],
    ['id', (text: string) => rest.get(`/events?limit=1&after=${encodeURIComponent(text)}`)],
    ['id', (text: string) => rest.get(`/pets/${encodeURIComponent(text) || '%20'}`)],
    ['id', (text: string) => rest.send('HEAD', `/pets/${encodeURIComponent(text) || '%20'}`)],
    ['id', (text: string) => rest.post('/store/orders', { petId: text })],
    ['flag', (text: string) => rest.get(`/store/orders?complete=${text}`)],
    ['flag', (text: string) => rest.send('POST', '/store/orders', { raw: `{"complete":${text}}`, headers: JSON_TYPE })],
  ] as const;
  for (const [index, [kind, send]] of places.entries()) {
    const { accepted, refused } = SPELLINGS[kind];
    for (const text of accepted) {
      const response = await send(text);
      const message = response.status === 400 ? response.body.message : '';
      t.notRegex(message, /whole number|true nor false|can't be read/, `${index} "${text}"`);
    }
    for (const text of refused) t.is((await send(text)).status, 400, `${index} "${text}"`);
  }
});

for (const { template: path, queryParameters } of LISTS) {
  test(`GET ${path} - a parameter without a value is a 400, never ignored`, async (t) => {
    for (const name of queryParameters.keys()) {
      for (const query of [name, `${name}&limit=7`]) isInvalid(t, await t.context.rest.get(`${path}?${query}`), name);
    }
  });
}

const SHIP_DATES = [
  ['2027-01-02T03:04:05Z', '2027-01-02T03:04:05Z'],
  ['2027-01-02T03:04:05.5Z', '2027-01-02T03:04:05.500Z'],
  ['2027-01-02T03:04:05.123456789Z', '2027-01-02T03:04:05.123456789Z'],
  ['2027-01-02T03:04:05+05:30', '2027-01-01T21:34:05Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
  ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999999999Z'],
] as const;

test('timestamps - are RFC 3339 in UTC, to the nanosecond, whatever offset was sent', async (t) => {
  const { rest } = t.context;
  const { id } = await rest.order();
  for (const [sent, printed] of SHIP_DATES) {
    t.is(((await rest.order({ shipDate: sent })) as { shipDate?: string }).shipDate, printed);
    t.is((await rest.patch(`/store/orders/${id}`, { shipDate: sent })).body.shipDate, printed);
  }
});

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
