import anyTest, { type TestFn } from 'ava';
import { isInvalid } from '../../support/contract.ts';
import type { RestResponse } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

interface Context extends TestStack {
  /** Each operation that accepts fields of a pet, a category, an order or an inventory entry. */
  readonly pets: readonly Operation[];
  readonly categories: readonly Operation[];
  readonly orders: readonly Operation[];
  readonly inventory: readonly Operation[];
}
/** Sends a valid request in which these fields are replaced. */
type Operation = (fields: object) => Promise<RestResponse>;

const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const stack = await startTestStack();
  const { rest } = stack;
  const categoryId = await rest.category();
  const petId = await rest.pet({ categoryId });
  const { id: orderId } = await rest.order();
  const pet = { name: 'Tom', categoryId, status: 'sold' };
  const category = { name: 'Cats', description: 'Small felines' };
  t.context = {
    ...stack,
    pets: [
      (fields) => rest.post('/pets', { ...pet, ...fields }),
      (fields) => rest.put(`/pets/${petId}`, { ...pet, ...fields }),
      (fields) => rest.patch(`/pets/${petId}`, { ...pet, ...fields }),
    ],
    categories: [
      (fields) => rest.post('/categories', { ...category, ...fields }),
      (fields) => rest.put(`/categories/${categoryId}`, { ...category, ...fields }),
      (fields) => rest.patch(`/categories/${categoryId}`, { ...category, ...fields }),
    ],
    orders: [
      (fields) => rest.post('/store/orders', fields),
      (fields) => rest.patch(`/store/orders/${orderId}`, fields),
    ],
    inventory: [(fields) => rest.put(`/store/inventory/${petId}`, fields)],
  };
});
test.after.always((t) => t.context.close());

type Shapes = 'pets' | 'categories' | 'orders' | 'inventory';

/** Asserts that each value is accepted, and returned unchanged, or as the second of a pair. */
const accepts = test.macro(async (t, shapes: Shapes, name: string, values: readonly unknown[]) => {
  for (const operation of t.context[shapes]) {
    for (const value of values) {
      const [sent, stored] = Array.isArray(value) ? value : [value, value];
      const { status, text, body } = await operation({ [name]: sent });
      t.true(status === 200 || status === 201, text);
      t.is(body[name], stored);
    }
  }
});

/** Asserts that each value is a 400 that names only this field. */
const rejects = test.macro(async (t, shapes: Shapes, name: string, values: readonly unknown[]) => {
  for (const operation of t.context[shapes]) {
    for (const value of values) isInvalid(t, await operation({ [name]: value }), name);
  }
});

const CAT = '😺';
const FLAG = '🏳️‍🌈'; // one grapheme of four characters
const NAMES = [
  'a',
  'a'.repeat(200),
  CAT.repeat(200),
  FLAG.repeat(50),
  'Ünï cödé  two spaces',
  ['  Tom\u00a0', 'Tom'],
  ['\u2003\u3000Tom\u2028', 'Tom'],
  [`  ${'a'.repeat(200)}  `, 'a'.repeat(200)],
  '\ufeff', // not white space in Unicode: a valid name
];
const INVALID_NAMES = [
  '',
  ' ',
  '\u00a0\u2003\u3000',
  'a'.repeat(201),
  CAT.repeat(201),
  `${FLAG.repeat(50)}!`,
  ' x'.repeat(101),
];
const CONTROLS = ['\0', 'a\u0001b', 'a\tb', 'a\nb', '\tTom', 'Tom\r\n', '\u001f', 'a\u007f', '\u0085Tom', 'Tom\u009f'];

for (const shapes of ['pets', 'categories'] as const) {
  test(`${shapes} - a name has 1 to 200 characters after trimming`, accepts, shapes, 'name', NAMES);
  test(
    `${shapes} - an empty name, or one of more than 200 characters, is refused`,
    rejects,
    shapes,
    'name',
    INVALID_NAMES,
  );
  test(`${shapes} - control characters in a name are refused, at its ends too`, rejects, shapes, 'name', CONTROLS);
  test(`${shapes} - a name that is not a string is refused`, rejects, shapes, 'name', [5, true]);
}

const DESCRIPTIONS = ['', ' ', ' kept as it is ', 'a'.repeat(2_000), CAT.repeat(2_000), 'line\nline\t\u0001\u0085'];
test(
  'categories - a description has 0 to 2,000 characters of any kind',
  accepts,
  'categories',
  'description',
  DESCRIPTIONS,
);
const INVALID_DESCRIPTIONS = ['a'.repeat(2_001), CAT.repeat(2_001), ' '.repeat(2_001), '\0', 'a\0b', 5, false];
test(
  'categories - a longer description, or one with U+0000, is refused',
  rejects,
  'categories',
  'description',
  INVALID_DESCRIPTIONS,
);

test('pets - a status is available, pending or sold', accepts, 'pets', 'status', ['available', 'pending', 'sold']);
const INVALID_STATUSES = ['PET_STATUS_UNSPECIFIED', 0, 4, -1, 'Sold', 'SOLD', ' sold', '', 'gone', true, 1.5];
test(
  'pets - any other status is refused, also the zero value of the enum',
  rejects,
  'pets',
  'status',
  INVALID_STATUSES,
);
test('pets - a categoryId that is not an int64 is refused', rejects, 'pets', 'categoryId', [
  'abc',
  '',
  '1.5',
  1.5,
  1e30,
  true,
]);

test('orders - a quantity is 1 to 1,000,000', accepts, 'orders', 'quantity', [1, 2, 999_999, 1_000_000]);
const INVALID_QUANTITIES = [0, -1, 1_000_001, 2_147_483_648, 1e30, 1.5, 'many', '', true];
test('orders - any other quantity is refused', rejects, 'orders', 'quantity', INVALID_QUANTITIES);
test('orders - complete is a boolean', rejects, 'orders', 'complete', [0, 1, 'maybe', '']);

test(
  'inventory - a quantity is 0 to 1,000,000,000',
  accepts,
  'inventory',
  'quantity',
  [0, 1, 999_999_999, 1_000_000_000],
);
const INVALID_STOCKS = [-1, 1_000_000_001, 2_147_483_648, 1e30, 0.5, 'many', '', true];
test('inventory - any other quantity is refused', rejects, 'inventory', 'quantity', INVALID_STOCKS);

test('rules - a 400 names every field with a violation, and no other', async (t) => {
  const { pets, categories, orders, rest } = t.context;
  for (const operation of pets) {
    isInvalid(t, await operation({ name: '', status: 0 }), 'name', 'status');
    isInvalid(t, await operation({ name: '\n', status: 99 }), 'name', 'status');
  }
  for (const operation of categories) {
    isInvalid(t, await operation({ name: ' ', description: 'x'.repeat(2_001) }), 'name', 'description');
  }
  for (const operation of orders) isInvalid(t, await operation({ quantity: 0, complete: true }), 'quantity');
  isInvalid(t, await rest.get('/pets?limit=0&status=0'), 'limit', 'status');
  isInvalid(t, await rest.get('/store/inventory?limit=101&status=0'), 'limit', 'status');
});

test('rules - a 400 names a field of the wrong type', async (t) => {
  const { pets, categories, orders, rest } = t.context;
  for (const operation of pets) isInvalid(t, await operation({ name: '', categoryId: 'abc' }), 'categoryId');
  for (const operation of categories) isInvalid(t, await operation({ name: '', description: 5 }), 'description');
  for (const operation of orders) isInvalid(t, await operation({ quantity: 0, shipDate: 'tomorrow' }), 'shipDate');
  isInvalid(t, await rest.get('/pets?limit=0&status=gone'), 'status');
  isInvalid(t, await rest.put('/store/inventory/abc', { quantity: -1 }), 'petId');
});

test('rules - a valid field, in any valid form, is not named when another is invalid', async (t) => {
  const { pets, orders, rest } = t.context;
  for (const operation of pets) {
    isInvalid(t, await operation({ categoryId: 'abc', status: '2', colour: 5 }), 'categoryId');
    isInvalid(t, await operation({ categoryId: null, name: 5 }), 'name');
  }
  const headers = { 'content-type': 'application/json' };
  const large = '{"name":"Tom","categoryId":9007199254740993,"status":"gone"}';
  isInvalid(t, await rest.send('POST', '/pets', { raw: large, headers }), 'status');
  for (const operation of orders) {
    const right = { complete: 'false', quantity: '5', id: '7' };
    isInvalid(t, await operation({ ...right, shipDate: 'tomorrow' }), 'shipDate');
  }
  isInvalid(t, await rest.get('/store/orders?complete=true&petId=%37&pageToken=&limit=x'), 'limit');
  isInvalid(t, await rest.get('/store/orders?complete=true&petId=x'), 'petId');
});
