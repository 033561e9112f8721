/** Values in JSON, in and out. bodies.test.ts has bodies as a whole. */
import anyTest, { type TestFn } from 'ava';
import fc from 'fast-check';
import { isInvalid } from '../support/contract.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test.serial('int64 - is a JSON number in every response, alone and in lists', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const petId = await rest.pet({ categoryId, stock: 3 });
  const { id } = await rest.order({ petId });
  const texts = {
    [`{"id":${petId},"name":"Tom","categoryId":${categoryId},"status":"available"}`]: [`/pets/${petId}`, '/pets'],
    [`{"id":${categoryId},"name":"Cats"}`]: [`/categories/${categoryId}`, '/categories'],
    [`{"id":${id},"petId":${petId},"quantity":1,"complete":false}`]: [`/store/orders/${id}`, '/store/orders'],
    [`{"petId":${petId},"quantity":2,"status":"available"}`]: [`/store/inventory/${petId}`, '/store/inventory'],
  };
  for (const [text, [one = '', list = '']] of Object.entries(texts)) {
    t.is((await rest.get(one)).text, text);
    t.is((await rest.get(`${list}?limit=100`)).text, `[${text}]`);
  }
});

test('numbers - are accepted in strings too', async (t) => {
  const { rest } = t.context;
  const { body: pet } = await rest.post('/pets', { name: 'Tom', categoryId: `${await rest.category()}` });
  t.is((await rest.put(`/store/inventory/${pet.id}`, { quantity: '5' })).body.quantity, 5);
  const { body: order } = await rest.post('/store/orders', { petId: `${pet.id}`, quantity: '2' });
  t.deepEqual(order, { id: order.id, petId: pet.id, quantity: 2, complete: false });
  t.is((await rest.patch(`/store/orders/${order.id}`, { quantity: '3' })).body.quantity, 3);
});

test('fields - every value is written, also 0 and false; an unset optional field is absent', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet();
  t.is((await rest.get(`/store/inventory/${petId}`)).text, `{"petId":${petId},"quantity":0,"status":"available"}`);
  const { id } = await rest.order();
  t.is((await rest.get(`/store/orders/${id}`)).text, `{"id":${id},"quantity":1,"complete":false}`);
  const { text } = await rest.post('/categories', { name: 'Cats', description: '' });
  t.regex(text, /^\{"id":\d+,"name":"Cats","description":""\}$/);
});

test('null - is the same as absent', async (t) => {
  const { rest } = t.context;
  const { body } = await rest.post('/categories', { name: 'Cats', description: null });
  t.deepEqual(body, { id: body.id, name: 'Cats' });
  isInvalid(t, await rest.post('/pets', { name: null, categoryId: null }), 'name', 'categoryId');
  isInvalid(t, await rest.post('/pets', null), 'name', 'categoryId');
});

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
    t.is((await rest.get(`/store/orders/${id}`)).body.shipDate, printed);
  }
});

const INVALID_SHIP_DATES = [
  ...['', 'tomorrow', '2027-01-02', '2027-01-02T03:04:05', '2027-01-02 03:04:05Z', '1798858800', 1_798_858_800, true],
  ...['2027-02-29T00:00:00Z', '2027-01-02T25:00:00Z', '2027-01-02T03:04:05+0530', '2027-01-02T03:04:05.1234567891Z'],
  ...['0000-12-31T23:59:59Z', '0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01', '10000-01-01T00:00:00Z'],
];

test('timestamps - anything else is a 400 that names the field', async (t) => {
  for (const shipDate of INVALID_SHIP_DATES) {
    isInvalid(t, await t.context.rest.post('/store/orders', { shipDate }), 'shipDate');
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
  t.is((await rest.put(`/store/inventory/${await rest.pet()}`, { ...unknown, quantity: 2 })).body.quantity, 2);
});

const RUNS = { numRuns: 40 };

/** Texts that the REST side parses, and characters that JSON must escape. */
const TRAPS = fc.constantFrom(
  ...['"', '\\', '\\"', '\\\\"', '"id":"7"', '"petId":"12",', '{"id":"1"', '"}', '],"nextPageToken":"AQ"}', '[', '{'],
  ...["'", '/', ':', ',', '\\u0022', '\\n', '%', '$1', '%1', '7', 'null', '<b>&'],
  ...['😺', '🏳️‍🌈', 'e\u0301', '\u2028', '\u2029', '\u00a0', '\ufeff', '\u{e0041}', '\uffff', '\u200b', '人', 'ß'],
);
const CONTROLS = fc.constantFrom(
  ...Array.from({ length: 31 }, (_, i) => String.fromCharCode(i + 1)),
  '\u007f',
  '\u0085',
);

const pieces = (piece: fc.Arbitrary<string>) => fc.array(piece, { maxLength: 30 }).map((parts) => parts.join(''));
/** U+0000 is refused: no engine's text has it. */
const description = pieces(fc.oneof(TRAPS, CONTROLS, fc.string({ unit: 'binary', maxLength: 5 }))).map((text) =>
  text.replaceAll('\0', '').toWellFormed(),
);
/** A name that trimming does not change. */
const name = pieces(fc.oneof(TRAPS, fc.string({ unit: 'grapheme', maxLength: 3 })))
  .map((text) => `x${text.replace(/\p{Cc}/gu, '').toWellFormed()}x`)
  .filter((text) => [...text].length <= 200);
const around = fc.constantFrom('', ' ', '\u00a0 ', '\u2003');
const gaps = fc.constantFrom(' ', '\n', '\t', '\r\n', '');

/** A string in JSON, with every character as an escape if so wished; surrogate pairs are two. */
function quote(text: string, isEscaped: boolean): string {
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index).toString(16));
  return isEscaped ? `"${units.map((unit) => `\\u${unit.padStart(4, '0')}`).join('')}"` : JSON.stringify(text);
}

test('names and descriptions - are returned exactly as they were sent, names trimmed', async (t) => {
  const { rest } = t.context;
  const headers = { 'content-type': 'application/json' };
  const property = fc.asyncProperty(
    name,
    description,
    around,
    fc.boolean(),
    gaps,
    async (plain, text, space, isEscaped, gap) => {
      const [sent, said] = [quote(space + plain + space, isEscaped), quote(text, isEscaped)];
      const raw = `${gap}${['{', '"name"', ':', sent, ',', '"description"', ':', said, '}'].join(gap)}${gap}`;
      const { status, body } = await rest.send('POST', '/categories', { raw, headers });
      t.is(status, 201, raw);
      t.deepEqual(body, { id: body.id, name: plain, description: text });
      t.deepEqual((await rest.get(`/categories/${body.id}`)).body, body);
      const { body: pet } = await rest.post('/pets', { name: plain, categoryId: body.id });
      t.deepEqual((await rest.get(`/pets?ids=${pet.id}`)).body, [pet]); // a list of one
      t.is(pet.name, plain);
    },
  );
  await fc.assert(property, RUNS);
});

test('orders - any combination of fields is returned, with defaults for the absent ones', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 1_000_000_000 });
  const shipDate = fc
    .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true })
    .map((date) => date.toISOString().replace('.000Z', 'Z'));
  const fields = { petId: fc.constant(petId), quantity: fc.integer({ min: 1, max: 1_000_000 }), shipDate };
  const order = fc.record({ ...fields, complete: fc.boolean() }, { requiredKeys: [] });
  const property = fc.asyncProperty(order, async (given) => {
    const placed = await rest.order(given);
    t.deepEqual({ ...placed }, { id: placed.id, quantity: 1, complete: false, ...given });
    t.deepEqual((await rest.get(`/store/orders/${placed.id}`)).body, placed);
  });
  await fc.assert(property, RUNS);
});
