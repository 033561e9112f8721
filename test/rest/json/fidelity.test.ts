import anyTest, { type TestFn } from 'ava';
import fc from 'fast-check';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const RUNS = { numRuns: 40 };

/** Texts that the REST side parses, and characters that JSON must escape. */
const TRAPS = fc.constantFrom(
  ...[
    '"',
    '\\',
    '\\"',
    '\\\\"',
    '"id":"7"',
    'Id":"5"',
    '"petId":"12",',
    '{"id":"1"',
    '"}',
    '[',
    ']',
    '{',
    '}',
    ':',
    ',',
  ],
  ...[
    '"nextPageToken":""',
    '],"nextPageToken":"AQ"}',
    "'",
    '/',
    '\\u0022',
    '\\n',
    '%',
    '$1',
    '%1',
    '7',
    'null',
    '<b>&',
  ],
  ...['😺', '🏳️‍🌈', 'é', 'e\u0301', '\u2028', '\u2029', '\u00a0', '\ufeff', '\u{e0041}', '\uffff', '\u200b', '人', 'ß'],
);
const CONTROLS = fc.constantFrom(...Array.from({ length: 32 }, (_, i) => String.fromCharCode(i)), '\u007f', '\u0085');

const pieces = (piece: fc.Arbitrary<string>) => fc.array(piece, { maxLength: 30 }).map((parts) => parts.join(''));
/** U+0000 is refused: no engine's text has it. */
const description = pieces(fc.oneof(TRAPS, CONTROLS, fc.string({ unit: 'binary', maxLength: 5 }))).map((text) =>
  text.replaceAll('\0', ''),
);
/** A name that trimming does not change. */
const name = pieces(fc.oneof(TRAPS, fc.string({ unit: 'grapheme', maxLength: 3 })))
  .map((text) => `x${text.replace(/\p{Cc}/gu, '')}x`)
  .filter((text) => [...text].length <= 200);
const around = fc.constantFrom('', ' ', '\u00a0 ', '\u2003');

test('names and descriptions - are returned exactly as they were sent, names trimmed', async (t) => {
  const { rest } = t.context;
  const property = fc.asyncProperty(name, description, around, async (plain, text, space) => {
    const { status, body } = await rest.post('/categories', { name: space + plain + space, description: text });
    t.is(status, 201);
    t.deepEqual(body, { id: body.id, name: plain, description: text });
    t.deepEqual((await rest.get(`/categories/${body.id}`)).body, body);
    const { body: pet } = await rest.post('/pets', { name: plain, categoryId: body.id });
    t.deepEqual(pet, { id: pet.id, name: plain, categoryId: body.id, status: 'available' });
    t.deepEqual((await rest.get(`/pets?ids=${pet.id}`)).body, [pet]); // a list of one
    t.deepEqual((await rest.put(`/categories/${body.id}`, { name: plain, description: text })).body, body);
    t.deepEqual((await rest.patch(`/categories/${body.id}`, { description: text })).body, body);
  });
  await fc.assert(property, RUNS);
  const { body: list } = await rest.get('/categories?limit=100');
  for (const category of list) t.deepEqual((await rest.get(`/categories/${category.id}`)).body, category);
});

test('bodies - JSON may be written with any white space and any escapes', async (t) => {
  const { rest } = t.context;
  const space = fc.constantFrom(' ', '\n', '\t', '\r\n', '  ', '');
  const property = fc.asyncProperty(name, description, fc.boolean(), space, async (plain, text, escaped, gap) => {
    const json = (value: string) => {
      const quoted = JSON.stringify(value.toWellFormed());
      // Every character as an escape, surrogate pairs as two.
      const units = [...Array(value.toWellFormed().length).keys()].map((i) => value.toWellFormed().charCodeAt(i));
      return escaped ? `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"` : quoted;
    };
    const parts = ['{', '"name"', ':', json(plain), ',', '"description"', ':', json(text), '}'];
    const raw = gap + parts.join(gap) + gap;
    const response = await rest.send('POST', '/categories', { raw, headers: { 'content-type': 'application/json' } });
    t.is(response.status, 201, response.text);
    t.deepEqual(response.body, { id: response.body.id, name: plain, description: text });
  });
  await fc.assert(property, RUNS);
});

test('orders - any combination of fields is returned, with defaults for the absent ones', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 1_000_000_000 });
  const shipDate = fc
    .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true })
    .map((date) => date.toISOString().replace('.000Z', 'Z'));
  const fields = { petId: fc.constant(petId), quantity: fc.integer({ min: 1, max: 1_000_000 }), shipDate };
  const order = fc.record({ ...fields, complete: fc.boolean(), id: fc.maxSafeInteger() }, { requiredKeys: [] });
  const property = fc.asyncProperty(order, async ({ id: _ignored, ...given }) => {
    const { status, body } = await rest.post('/store/orders', { ...given, id: _ignored });
    t.is(status, 201);
    t.deepEqual(body, { id: body.id, quantity: 1, complete: false, ...given });
    t.deepEqual((await rest.get(`/store/orders/${body.id}`)).body, body);
  });
  await fc.assert(property, RUNS);
});
