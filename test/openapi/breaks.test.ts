import { readFileSync } from 'node:fs';
import test from 'ava';
import { findBreaks } from '../../scripts/openapi/breaks.ts';

// biome-ignore lint/suspicious/noExplicitAny: the tests change any part of it
type Document = any;
type Change = (document: Document) => unknown;

const current = readFileSync('gen/openapi/openapi.json', 'utf8');

/** Returns the breaks that a change to the current description causes. */
function breaksOf(change: Change): string[] {
  const changed: Document = JSON.parse(current);
  change(changed);
  return findBreaks(JSON.parse(current), changed);
}

const schema = ({ components }: Document, name: string) => components.schemas[name];
const parameters = ({ paths }: Document) => paths['/store/orders'].get.parameters;
const limit = (document: Document) => parameters(document)[2].schema;
const body = ({ paths }: Document) => paths['/store/orders'].post.requestBody;
const statuses = (document: Document) => schema(document, 'PetStatus').enum;
const responses = ({ paths }: Document) => paths['/pets/{petId}'].get.responses;

const shop = { name: 'shop', in: 'query', schema: { type: 'string' } };
const at = 'GET /store/orders: query parameter';
const description = (method: string) => `${method}: body.description`;
const ofCategories = ['POST /categories', 'PUT /categories/{categoryId}'].map(description);

/** Changes, and all the breaks that each causes. Whoever only adds sees at once if that is taken for one. */
const BREAKS: readonly (readonly [Change, ...string[]])[] = [
  // An operation that is gone, or not stable any more.
  [({ paths }) => delete paths['/pets'].post, 'POST /pets: it is gone'],
  [({ paths }) => Object.assign(paths['/pets'].get, { 'x-stability': 'beta' }), 'GET /pets: it was stable and is beta'],
  // A parameter that is gone, new and required, or takes less.
  [(document) => parameters(document).shift(), `${at} petId: it is gone`],
  [(document) => parameters(document).push({ ...shop, required: true }), `${at} shop: it is required`],
  [(document) => Object.assign(limit(document), { maximum: 50 }), `${at} limit: maximum was 100 and is 50`],
  [
    (document) => Object.assign(limit(document), { type: 'string', format: undefined }),
    `${at} limit: the type was integer int32 and is string`,
  ],
  // A body that is required, or whose fields are, or take less.
  [(document) => Object.assign(body(document), { required: true }), 'POST /store/orders: body: it is required'],
  [({ paths }) => delete paths['/store/orders'].post.requestBody, 'POST /store/orders: body: it is gone'],
  [
    (document) => schema(document, 'NewPet').required.push('status'),
    'POST /pets: body.status: it is required',
    'PUT /pets/{petId}: body.status: it is required',
  ],
  [
    (document) => delete schema(document, 'NewCategory').properties.description,
    ...ofCategories.map((place) => `${place}: it is gone`),
  ],
  [
    (document) =>
      Object.assign(schema(document, 'NewCategory').properties.description, { maxLength: 100, pattern: 'x' }),
    ...ofCategories.flatMap((place) => [
      `${place}: maxLength was 2000 and is 100`,
      `${place}: pattern was not there and is x`,
    ]),
  ],
];

test('Breaks - of operations, parameters and bodies are found', (t) => {
  for (const [change, ...expected] of BREAKS) t.deepEqual(breaksOf(change), expected, String(change));
});

const get = 'GET /pets/{petId}: ';

test('Breaks - a response whose status, field or header is gone or can be absent', (t) => {
  const changes: readonly (readonly [Change, string])[] = [
    [({ paths }) => delete paths['/pets'].post.responses[201], 'POST /pets: 201: it is gone'],
    [(document) => delete responses(document)[200].headers.Sunset, `${get}200 header Sunset: it is gone`],
    [(document) => delete schema(document, 'Pet').properties.name, `${get}200 body.name: it is gone`],
    [(document) => schema(document, 'Pet').required.pop(), `${get}200 body.status: it may be absent`],
    [
      ({ components }) => delete components.headers.Location.required,
      'POST /pets: 201 header Location: it may be absent',
    ],
    [(document) => delete schema(document, 'ErrorBody').properties.message, `${get}404 body.message: it is gone`],
    [(document) => statuses(document).pop(), 'GET /pets: query parameter status: sold is not accepted any more'],
    [(document) => statuses(document).push('lost'), 'GET /pets: 200 body[].status: it may be lost now'],
  ];
  for (const [change, expected] of changes) t.true(breaksOf(change).includes(expected), expected);
});
