import anyTest, { type TestFn } from 'ava';
import { isInvalid } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test('int64 - is a JSON number in every response, alone and in lists', async (t) => {
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
    const { text: array } = await rest.get(`${list}?limit=100`);
    t.regex(array, /^\[\{.*\}\]$/); // a bare array
    t.true(array.includes(text), array);
    t.notRegex(array, /[iI]d":"/);
  }
});

test('numbers - are accepted in strings too', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const pet = await rest.post('/pets', { name: 'Tom', categoryId: `${categoryId}` });
  t.is(pet.body.categoryId, categoryId);
  const petId: number = pet.body.id;
  t.is((await rest.put(`/store/inventory/${petId}`, { quantity: '5' })).body.quantity, 5);
  const order = await rest.post('/store/orders', { petId: `${petId}`, quantity: '2' });
  t.deepEqual(order.body, { id: order.body.id, petId, quantity: 2, complete: false });
  t.is((await rest.patch(`/store/orders/${order.body.id}`, { quantity: '3' })).body.quantity, 3);
  t.is((await rest.patch(`/pets/${petId}`, { categoryId: `${categoryId}` })).body.categoryId, categoryId);
});

test('fields - every value is written, also 0 and false; an unset optional field is absent', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet();
  t.is((await rest.get(`/store/inventory/${petId}`)).text, `{"petId":${petId},"quantity":0,"status":"available"}`);
  const { id } = await rest.order();
  t.is((await rest.get(`/store/orders/${id}`)).text, `{"id":${id},"quantity":1,"complete":false}`);
  const bare = await rest.category();
  t.is((await rest.get(`/categories/${bare}`)).text, `{"id":${bare},"name":"Cats"}`);
  const { body: empty } = await rest.post('/categories', { name: 'Cats', description: '' });
  t.is((await rest.get(`/categories/${empty.id}`)).text, `{"id":${empty.id},"name":"Cats","description":""}`);
});

test('null - is the same as absent', async (t) => {
  const { rest } = t.context;
  const { body } = await rest.post('/categories', { name: 'Cats', description: null });
  t.deepEqual(body, { id: body.id, name: 'Cats' });
  isInvalid(t, await rest.post('/pets', { name: null, categoryId: null }), 'name', 'categoryId');
  isInvalid(
    t,
    await rest.send('POST', '/pets', { raw: 'null', headers: { 'content-type': 'application/json' } }),
    'name',
    'categoryId',
  );
});

const SHIP_DATES = [
  ['2027-01-02T03:04:05Z', '2027-01-02T03:04:05Z'],
  ['2027-01-02T03:04:05.5Z', '2027-01-02T03:04:05.500Z'],
  ['2027-01-02T03:04:05.123456Z', '2027-01-02T03:04:05.123456Z'],
  ['2027-01-02T03:04:05.123456789Z', '2027-01-02T03:04:05.123456789Z'],
  ['2027-01-02T03:04:05.000000001Z', '2027-01-02T03:04:05.000000001Z'],
  ['2027-01-02T03:04:05+05:30', '2027-01-01T21:34:05Z'],
  ['2026-12-31T23:30:00.25-01:00', '2027-01-01T00:30:00.250Z'],
  ['2028-02-29T12:00:00Z', '2028-02-29T12:00:00Z'],
  ['1969-12-31T23:59:59.75Z', '1969-12-31T23:59:59.750Z'],
  ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
  ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999999999Z'],
] as const;

test('timestamps - are RFC 3339 in UTC, to the nanosecond, whatever offset was sent', async (t) => {
  const { rest } = t.context;
  const { id: patched } = await rest.order();
  for (const [sent, printed] of SHIP_DATES) {
    const { body } = await rest.post('/store/orders', { shipDate: sent });
    t.is(body.shipDate, printed);
    t.is((await rest.get(`/store/orders/${body.id}`)).body.shipDate, printed);
    t.is((await rest.patch(`/store/orders/${patched}`, { shipDate: sent })).body.shipDate, printed);
  }
});

const INVALID_SHIP_DATES = [
  ...['', 'tomorrow', '2027-01-02', '2027-01-02T03:04:05', '2027-01-02 03:04:05Z', '03:04:05Z', '1798858800'],
  ...['2027-02-29T00:00:00Z', '2027-13-01T00:00:00Z', '2027-01-32T00:00:00Z', '2027-01-02T25:00:00Z'],
  ...['0000-12-31T23:59:59Z', '0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01', '10000-01-01T00:00:00Z'],
  ...['2027-01-02T03:04:05+0530', '2027-01-02T03:04:05.1234567891Z'],
  ...[1_798_858_800, true],
];

test('timestamps - anything else is a 400 that names the field', async (t) => {
  const { rest } = t.context;
  const { id } = await rest.order();
  for (const shipDate of INVALID_SHIP_DATES) {
    isInvalid(t, await rest.post('/store/orders', { shipDate }), 'shipDate');
    isInvalid(t, await rest.patch(`/store/orders/${id}`, { shipDate }), 'shipDate');
  }
});

test('bodies - an unknown field is ignored, whatever its value', async (t) => {
  const { rest } = t.context;
  const unknown = {
    colour: 'red',
    legs: 4,
    marks: ['a', 1, null],
    owner: { name: 5, pets: [{}] },
    nothing: null,
    Name: '',
  };
  const category = await rest.post('/categories', { ...unknown, name: 'Cats' });
  t.deepEqual(category.body, { id: category.body.id, name: 'Cats' });
  const categoryId: number = category.body.id;
  const pet = await rest.post('/pets', { ...unknown, name: 'Tom', categoryId });
  t.deepEqual(pet.body, { id: pet.body.id, name: 'Tom', categoryId, status: 'available' });
  const path = `/pets/${pet.body.id}`;
  t.deepEqual((await rest.put(path, { ...unknown, name: 'Tom', categoryId })).body, pet.body);
  t.deepEqual((await rest.patch(path, unknown)).body, pet.body);
  const order = await rest.post('/store/orders', unknown);
  t.deepEqual(order.body, { id: order.body.id, quantity: 1, complete: false });
  t.deepEqual((await rest.patch(`/store/orders/${order.body.id}`, unknown)).body, order.body);
  t.is((await rest.put(`/store/inventory/${pet.body.id}`, { ...unknown, quantity: 2 })).body.quantity, 2);
});
