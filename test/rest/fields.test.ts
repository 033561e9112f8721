/** What the fields of bodies and queries accept, through the transcoder. Validation has every rule in process. */
import { ScalarType } from '@bufbuild/protobuf';
import anyTest, { type TestFn } from 'ava';
import { isError, isInvalid } from '../support/contract.ts';
import { PUBLIC } from '../support/resources.ts';
import type { RestResponse } from '../support/rest-client.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

/** Sends a valid request in which these fields are replaced. */
type Send = (fields: object) => Promise<RestResponse>;

/** Each operation that accepts fields of a pet, a category, an order or an inventory entry. */
type Shapes = 'pets' | 'categories' | 'orders' | 'inventory';

const test = anyTest as TestFn<TestStack & Readonly<Record<Shapes, readonly Send[]>>>;

test.before(async (t) => {
  const stack = await startTestStack();
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
  t.context = {
    ...stack,
    pets: to(pet, 'POST /pets', `PUT /pets/${petId}`, `PATCH /pets/${petId}`),
    categories: to(category, 'POST /categories', `PUT /categories/${categoryId}`, `PATCH /categories/${categoryId}`),
    orders: to({}, 'POST /store/orders', `PATCH /store/orders/${orderId}`),
    inventory: to({}, `PUT /store/inventory/${petId}`),
  };
});
test.after.always((t) => t.context.close());

const CAT = '😺';
const NAMES = ['a', CAT.repeat(200), 'Ünï cödé  two spaces', ['\u2003 Tom\u00a0', 'Tom']];
const INVALID_NAMES = ['', '\u00a0', CAT.repeat(201), 'a\tb', '\0', 5, true];
const STATUSES = ['available', 'pending', 'sold'];
const INVALID_STATUSES = ['PET_STATUS_UNSPECIFIED', 0, 4, -1, 'SOLD', '', 'gone', true, 1.5];
const TEXTS = ['', ' ', CAT.repeat(2_000), 'line\nline\t\u0001'];
const NO_NUMBERS = [2_147_483_648, 1e30, 1.5, 'many', '', true];

/** Accepted values, with what is returned if that differs, and refused ones. */
const BOUNDS: readonly (readonly [Shapes, field: string, accepted: readonly unknown[], refused: readonly unknown[]])[] =
  [
    ['pets', 'name', NAMES, INVALID_NAMES],
    ['pets', 'status', STATUSES, INVALID_STATUSES],
    ['pets', 'categoryId', [], ['abc', '', '1.5', ' 1', 1.5, 1e30, '9223372036854775808', true]],
    ['categories', 'name', NAMES, INVALID_NAMES],
    ['categories', 'description', TEXTS, [CAT.repeat(2_001), 'a\0b', 5, false]],
    ['orders', 'quantity', [1, 1_000_000], [0, -1, 1_000_001, ...NO_NUMBERS]],
    ['orders', 'complete', [], [0, 1, 'maybe', '']],
    ['inventory', 'quantity', [0, 1_000_000_000], [-1, 1_000_000_001, ...NO_NUMBERS]],
  ];

for (const [shapes, name, accepted, refused] of BOUNDS) {
  test(`${shapes} - ${name} is what its rule says, in each operation, and a 400 names it`, async (t) => {
    for (const send of t.context[shapes]) {
      for (const value of accepted) {
        const [sent, stored] = Array.isArray(value) ? value : [value, value];
        const { status, text, body } = await send({ [name]: sent });
        t.true(status === 200 || status === 201, text);
        t.is(body[name], stored);
      }
      for (const value of refused) isInvalid(t, await send({ [name]: value }), name);
    }
  });
}

/** Bodies with several wrong fields, and those that the 400 names: all, or the first of a wrong type. */
const SEVERAL: readonly (readonly [Shapes, fields: object, ...named: string[]])[] = [
  ['pets', { name: '', status: 0 }, 'name', 'status'],
  ['pets', { name: '\n', status: 99 }, 'name', 'status'],
  ['pets', { name: '', categoryId: 'abc' }, 'categoryId'],
  ['pets', { categoryId: null, name: 5 }, 'name'],
  ['pets', { categoryId: 'abc', status: '2', colour: 5 }, 'categoryId'],
  ['categories', { name: ' ', description: 'x'.repeat(2_001) }, 'name', 'description'],
  ['categories', { name: '', description: 5 }, 'description'],
  ['orders', { quantity: 0, complete: true }, 'quantity'],
  ['orders', { quantity: '5', complete: 'false', id: '7', shipDate: 'tomorrow' }, 'shipDate'],
];

test('rules - a 400 names every field with a violation, and no other', async (t) => {
  const { rest } = t.context;
  for (const [shapes, fields, ...named] of SEVERAL) {
    for (const send of t.context[shapes]) isInvalid(t, await send(fields), ...named);
  }
  isInvalid(t, await rest.post('/pets', {}), 'name', 'categoryId');
  isInvalid(t, await rest.post('/pets'), 'name', 'categoryId');
  isInvalid(t, await rest.get('/pets?limit=0&status=0'), 'limit', 'status');
  isInvalid(t, await rest.get('/pets?limit=0&status=gone'), 'status');
  isInvalid(t, await rest.put('/store/inventory/abc', { quantity: -1 }), 'petId');
  isInvalid(t, await rest.get('/store/orders?complete=true&petId=%37&pageToken=&limit=x'), 'limit');
});

test('ids in the query - an unknown int64 finds nothing, any other text is a 400', async (t) => {
  const { rest } = t.context;
  for (const [path, name] of [
    ['/pets', 'categoryId'],
    ['/pets', 'ids'],
    ['/store/orders', 'petId'],
  ] as const) {
    for (const id of ['0', '-1', '9223372036854775807', '-9223372036854775808']) {
      t.deepEqual((await rest.get(`${path}?${name}=${id}`)).body, [], `${name}=${id}`);
    }
    for (const id of ['abc', '1.5', '%20', '1,2', '9223372036854775808', '']) {
      isInvalid(t, await rest.get(`${path}?${name}=${id}`), name);
    }
  }
});

test('ids in the body - are int64 to the last digit, as numbers and in strings', async (t) => {
  const { rest } = t.context;
  const headers = { 'content-type': 'application/json' };
  for (const id of ['-1', '9007199254740993', '9223372036854775807', '-9223372036854775808']) {
    for (const raw of [`{"name":"Tom","categoryId":${id}}`, `{"name":"Tom","categoryId":"${id}"}`]) {
      const message = `categoryId: category ${id} does not exist`;
      isError(t, await rest.send('POST', '/pets', { raw, headers }), 400, 'UNKNOWN_CATEGORY', message);
    }
  }
});

/** The parameters of each list; other operations have none. */
const READS = PUBLIC.filter(({ queryParameters, isStream }) => queryParameters.size > 0 && !isStream);
const ALL = new Map(READS.flatMap(({ queryParameters }) => [...queryParameters]));
const OTHER_SPELLINGS = ['page_token', 'category_id', 'pet_id', 'Limit', 'offset', 'ids[]', 'x.y', ''];

/** A value of the parameter. */
function sampleOf(name: string): string {
  const field = ALL.get(name);
  if (name === 'types') return 'pet.created';
  return field?.enum?.values[1]?.name ?? (field?.scalar === ScalarType.BOOL ? 'true' : '7');
}

for (const { template: path, queryParameters } of READS) {
  const known = [...queryParameters.keys()];

  test(`GET ${path} - accepts ${known.join(', ')} and nothing else`, async (t) => {
    const { rest } = t.context;
    for (const name of [...ALL.keys()].filter((one) => one !== 'pageToken')) {
      const response = await rest.get(`${path}?${name}=${sampleOf(name)}`);
      if (known.includes(name)) t.is(response.status, 200, response.text);
      else isInvalid(t, response, name);
    }
    for (const name of OTHER_SPELLINGS) {
      const response = await rest.get(`${path}?${encodeURIComponent(name)}=7`);
      isError(t, response, 400, 'INVALID_ARGUMENT', `${name}: is not a query parameter here`);
    }
  });

  test(`GET ${path} - a parameter without a value is a 400, never ignored`, async (t) => {
    for (const name of known) {
      for (const query of [name, `${name}&limit=7`, `${name}&${name}=${sampleOf(name)}`]) {
        isError(t, await t.context.rest.get(`${path}?${query}`), 400, 'INVALID_ARGUMENT');
      }
    }
  });
}

test('query - may be percent-encoded; what is unknown or repeated is named, of many a few', async (t) => {
  const { rest } = t.context;
  for (const query of ['%6Cimit=%31', 'limit=1&', '']) t.is((await rest.get(`/pets?${query}`)).status, 200, query);
  isInvalid(t, await rest.get('/pets?%63olour=red'), 'colour');
  isInvalid(t, await rest.get('/pets?limit=5&colour=red&limit=6&status=sold&status=sold'), 'limit', 'colour', 'status');
  const many = Array.from({ length: 2_000 }, (_, i) => `x${i}=`).join('&');
  isError(t, await rest.get(`/pets?${many}`), 400, 'INVALID_ARGUMENT', /^x0: /);
  isError(t, await rest.get(`/pets?${'%E4%BA%BA'.repeat(3_800)}=`), 400, 'INVALID_ARGUMENT', /^人/);
});
