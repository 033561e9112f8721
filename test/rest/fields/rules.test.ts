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

const CAT = '😺';
const NAMES = ['a', CAT.repeat(200), 'Ünï cödé  two spaces', ['\u2003 Tom\u00a0', 'Tom']];
const INVALID_NAMES = ['', '\u00a0', CAT.repeat(201), 'a\tb', 'Tom\r\n', '\u0085Tom', '\0', 5, true];
const INVALID_STATUSES = ['PET_STATUS_UNSPECIFIED', 0, 4, -1, 'SOLD', ' sold', '', 'gone', true, 1.5];

/** Accepted values, with what is returned if that differs, and refused ones. Validation has more of them. */
const BOUNDS: readonly (readonly [Shapes, field: string, accepted: readonly unknown[], refused: readonly unknown[]])[] =
  [
    ['pets', 'name', NAMES, INVALID_NAMES],
    ['pets', 'status', ['available', 'pending', 'sold'], INVALID_STATUSES],
    ['pets', 'categoryId', [], ['abc', '', '1.5', 1.5, 1e30, true]],
    ['categories', 'name', NAMES, INVALID_NAMES],
    [
      'categories',
      'description',
      ['', ' ', CAT.repeat(2_000), 'line\nline\t\u0001'],
      [CAT.repeat(2_001), 'a\0b', 5, false],
    ],
    ['orders', 'quantity', [1, 1_000_000], [0, -1, 1_000_001, 2_147_483_648, 1e30, 1.5, 'many', '', true]],
    ['orders', 'complete', [], [0, 1, 'maybe', '']],
    ['inventory', 'quantity', [0, 1_000_000_000], [-1, 1_000_000_001, 2_147_483_648, 1e30, 0.5, 'many', '', true]],
  ];

for (const [shapes, name, accepted, refused] of BOUNDS) {
  test(`${shapes} - ${name} is what its rule says, in each operation, and a 400 names it`, async (t) => {
    for (const operation of t.context[shapes]) {
      for (const value of accepted) {
        const [sent, stored] = Array.isArray(value) ? value : [value, value];
        const { status, text, body } = await operation({ [name]: sent });
        t.true(status === 200 || status === 201, text);
        t.is(body[name], stored);
      }
      for (const value of refused) isInvalid(t, await operation({ [name]: value }), name);
    }
  });
}

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
