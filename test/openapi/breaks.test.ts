import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { findBreaks } from '../../scripts/openapi-breaks.ts';

// biome-ignore lint/suspicious/noExplicitAny: the tests change any part of it
type Document = any;

const current = readFileSync('gen/openapi/openapi.json', 'utf8');

/** Returns the breaks that a change to the current description causes. */
function breaksOf(change: (document: Document) => void): string[] {
  const changed: Document = JSON.parse(current);
  change(changed);
  return findBreaks(JSON.parse(current), changed);
}

function isBroken(t: ExecutionContext, change: (document: Document) => void, ...expected: string[]): void {
  t.deepEqual(breaksOf(change), expected);
}

function schema({ components }: Document, name: string): Document {
  return components.schemas[name];
}

test('Breaks - the description itself breaks nothing', (t) => {
  t.deepEqual(
    breaksOf(() => undefined),
    [],
  );
});

test('Breaks - an operation that is gone, or not stable any more', (t) => {
  isBroken(t, ({ paths }) => delete paths['/pets'].post, 'POST /pets: it is gone');
  const unstable = 'GET /pets: it was stable and is beta';
  isBroken(t, ({ paths }) => Object.assign(paths['/pets'].get, { 'x-stability': 'beta' }), unstable);
});

test('Breaks - a parameter that is gone, new and required, or takes less', (t) => {
  const parameters = ({ paths }: Document) => paths['/store/orders'].get.parameters;
  const limit = (document: Document) => parameters(document)[2].schema;
  isBroken(t, (document) => parameters(document).shift(), 'GET /store/orders: query parameter petId: it is gone');
  const needed = { name: 'shop', in: 'query', required: true, schema: { type: 'string' } };
  isBroken(
    t,
    (document) => parameters(document).push(needed),
    'GET /store/orders: query parameter shop: it is required',
  );
  const at = 'GET /store/orders: query parameter limit';
  isBroken(t, (document) => Object.assign(limit(document), { maximum: 50 }), `${at}: maximum was 100 and is 50`);
  isBroken(t, (document) => Object.assign(limit(document), { minimum: 2 }), `${at}: minimum was 1 and is 2`);
  const retyped = `${at}: the type was integer int32 and is string`;
  isBroken(t, (document) => Object.assign(limit(document), { type: 'string', format: undefined }), retyped);
});

test('Breaks - a body that is required, or whose fields are, or take less', (t) => {
  const body = ({ paths }: Document) => paths['/store/orders'].post.requestBody;
  isBroken(
    t,
    (document) => Object.assign(body(document), { required: true }),
    'POST /store/orders: body: it is required',
  );
  isBroken(t, ({ paths }) => delete paths['/store/orders'].post.requestBody, 'POST /store/orders: body: it is gone');
  isBroken(
    t,
    (document) => schema(document, 'NewPet').required.push('status'),
    'POST /pets: body.status: it is required',
    'PUT /pets/{petId}: body.status: it is required',
  );
  isBroken(
    t,
    (document) => delete schema(document, 'NewCategory').properties.description,
    'POST /categories: body.description: it is gone',
    'PUT /categories/{categoryId}: body.description: it is gone',
  );
  isBroken(
    t,
    (document) =>
      Object.assign(schema(document, 'NewCategory').properties.description, { maxLength: 100, pattern: 'x' }),
    'POST /categories: body.description: maxLength was 2000 and is 100',
    'POST /categories: body.description: pattern was not there and is x',
    'PUT /categories/{categoryId}: body.description: maxLength was 2000 and is 100',
    'PUT /categories/{categoryId}: body.description: pattern was not there and is x',
  );
});

test('Breaks - an enum that takes less, or answers more', (t) => {
  const values = (document: Document) => schema(document, 'PetStatus').enum;
  t.true(
    breaksOf((document) => values(document).pop()).includes(
      'GET /pets: query parameter status: sold is not accepted any more',
    ),
  );
  t.true(
    breaksOf((document) => values(document).push('lost')).includes('GET /pets: 200 body[].status: it may be lost now'),
  );
});

test('Breaks - a response whose status, field or header is gone or can be absent', (t) => {
  const responses = ({ paths }: Document) => paths['/pets/{petId}'].get.responses;
  const get = 'GET /pets/{petId}';
  isBroken(t, ({ paths }) => delete paths['/pets'].post.responses[201], 'POST /pets: 201: it is gone');
  isBroken(t, (document) => delete responses(document)[200].headers.Sunset, `${get}: 200 header Sunset: it is gone`);
  t.true(
    breaksOf((document) => delete schema(document, 'Pet').properties.name).includes(
      `${get}: 200 body.name: it is gone`,
    ),
  );
  t.true(
    breaksOf((document) => schema(document, 'Pet').required.pop()).includes(
      `${get}: 200 body.status: it may be absent`,
    ),
  );
  const optional = (document: Document) => delete document.components.headers.Location.required;
  t.true(breaksOf(optional).includes('POST /pets: 201 header Location: it may be absent'));
  const message = (document: Document) => delete schema(document, 'ErrorBody').properties.message;
  t.true(breaksOf(message).includes(`${get}: 404 body.message: it is gone`));
});

test('Breaks - what only adds breaks nothing', (t) => {
  const additions: ((document: Document) => void)[] = [
    ({ paths }) => Object.assign(paths, { '/shops': paths['/pets'] }),
    ({ paths }) => paths['/pets'].get.parameters.push({ name: 'shop', in: 'query', schema: { type: 'string' } }),
    (document) => Object.assign(schema(document, 'NewPet').properties, { colour: { type: 'string' } }),
    (document) => Object.assign(schema(document, 'Pet').properties, { colour: { type: 'string' } }),
    (document) => schema(document, 'Pet').required.push('colour'),
    (document) => delete schema(document, 'NewCategory').properties.description.maxLength,
    (document) => schema(document, 'NewPet').required.pop(),
    ({ paths }) => delete paths['/pets/{petId}'].delete.responses[409],
    ({ paths }) => Object.assign(paths['/pets'].get, { description: 'Lists pets.', deprecated: true }),
  ];
  for (const change of additions) t.deepEqual(breaksOf(change), [], String(change));
});

test('Breaks - beta and experimental operations may change, and go', (t) => {
  t.deepEqual(
    breaksOf(({ paths }) => {
      delete paths['/store/inventory'];
      delete paths['/pets/{petId}'].patch;
    }),
    [],
  );
  t.deepEqual(
    breaksOf((document) => delete schema(document, 'InventoryItem').properties.quantity),
    [],
  );
});
