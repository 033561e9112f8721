/** Errors over gRPC: the canonical code, the same message as over REST, standard details. */
import { status as Code } from '@grpc/grpc-js';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../src/access/keys/format.ts';
import { compile } from '../../src/storage/statement.ts';
import type { Failure } from '../support/grpc-caller.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const test = anyTest as TestFn<TestServer>;

test.beforeEach(async (t) => {
  t.context = await startTestServer();
});
test.afterEach.always((t) => t.context.close());

const NOBODY = 999_999n;

function expect(t: ExecutionContext, failure: Failure, code: Code, reason: string, message: string | RegExp): void {
  t.is(failure.code, code);
  t.is(failure.reason, reason);
  t.is(failure.domain, 'petstore');
  if (typeof message === 'string') t.is(failure.message, message);
  else t.regex(failure.message, message);
}

test('UNAUTHENTICATED - without a key, with the challenge', async (t) => {
  const anonymous = t.context.grpc.withKey(undefined);
  const failure = await anonymous.failure(Pets.getPet, { petId: 1n });
  expect(t, failure, Code.UNAUTHENTICATED, 'API_KEY_MISSING', /Authorization: Bearer/);
  t.deepEqual(failure.metadata.get('www-authenticate'), ['Bearer']);
  anonymous.close();
});

test('UNAUTHENTICATED - with an unknown or malformed key', async (t) => {
  for (const key of [generateKey(), 'pst_', 'x', 'Bearer']) {
    const anonymous = t.context.grpc.withKey(key);
    const failure = await anonymous.failure(Pets.getPet, { petId: 1n });
    expect(t, failure, Code.UNAUTHENTICATED, 'API_KEY_INVALID', /not valid/);
    anonymous.close();
  }
});

test('UNAUTHENTICATED - comes before every other error', async (t) => {
  const anonymous = t.context.grpc.withKey(undefined);
  const failures = [
    await anonymous.failure(Pets.createPet, { pet: undefined }),
    await anonymous.failure(Pets.getPet, { petId: NOBODY }),
    await anonymous.failureOfBytes(Pets.createPet.path, Buffer.from([0xff])),
  ];
  for (const { reason } of failures) t.is(reason, 'API_KEY_MISSING');
  anonymous.close();
});

test('NOT_FOUND - says what does not exist', async (t) => {
  const { grpc } = t.context;
  const [petId, categoryId, orderId] = [NOBODY, NOBODY, NOBODY];
  const pet = [
    await grpc.failure(Pets.getPet, { petId }),
    await grpc.failure(Pets.replacePet, { petId, pet: { name: 'Tom', categoryId: 1n } }),
    await grpc.failure(Pets.updatePet, { petId, pet: {} }),
    await grpc.failure(Pets.deletePet, { petId }),
  ];
  for (const failure of pet) expect(t, failure, Code.NOT_FOUND, 'PET_NOT_FOUND', 'pet 999999 does not exist');
  const category = [
    await grpc.failure(Categories.getCategory, { categoryId }),
    await grpc.failure(Categories.replaceCategory, { categoryId, category: { name: 'Cats' } }),
    await grpc.failure(Categories.updateCategory, { categoryId, category: {} }),
    await grpc.failure(Categories.deleteCategory, { categoryId }),
  ];
  for (const failure of category) {
    expect(t, failure, Code.NOT_FOUND, 'CATEGORY_NOT_FOUND', 'category 999999 does not exist');
  }
  const order = [
    await grpc.failure(Orders.getOrder, { orderId }),
    await grpc.failure(Orders.updateOrder, { orderId, order: {} }),
    await grpc.failure(Orders.cancelOrder, { orderId }),
  ];
  for (const failure of order) expect(t, failure, Code.NOT_FOUND, 'ORDER_NOT_FOUND', 'order 999999 does not exist');
  const inventory = [
    await grpc.failure(Inventory.getInventoryItem, { petId }),
    await grpc.failure(Inventory.setInventory, { petId, inventory: { quantity: 1 } }),
  ];
  for (const failure of inventory) expect(t, failure, Code.NOT_FOUND, 'INVENTORY_NOT_FOUND', /999999/);
});

test('NOT_FOUND - for any int64 that is not an id', async (t) => {
  for (const petId of [0n, -1n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)]) {
    const failure = await t.context.grpc.failure(Pets.getPet, { petId });
    expect(t, failure, Code.NOT_FOUND, 'PET_NOT_FOUND', `pet ${petId} does not exist`);
  }
});

test('INVALID_ARGUMENT - names every field with a violation by its path', async (t) => {
  const { grpc } = t.context;
  const failure = await grpc.failure(Pets.createPet, { pet: { name: '', status: 0 } });
  expect(t, failure, Code.INVALID_ARGUMENT, 'INVALID_ARGUMENT', /^name: .*; categoryId: .*; status: /);
  t.deepEqual(failure.fields, ['pet.name', 'pet.categoryId', 'pet.status']);

  const list = await grpc.failure(Orders.listOrders, { limit: 101, pageToken: 'nonsense' });
  t.deepEqual(list.fields, ['limit']);
  const token = await grpc.failure(Orders.listOrders, { pageToken: 'nonsense' });
  expect(t, token, Code.INVALID_ARGUMENT, 'INVALID_ARGUMENT', /^pageToken: /);
  t.deepEqual(token.fields, ['pageToken']);
});

test('INVALID_ARGUMENT - a category or pet that does not exist', async (t) => {
  const { grpc } = t.context;
  const pet = { name: 'Tom', categoryId: NOBODY };
  const unknownCategory = [
    await grpc.failure(Pets.createPet, { pet }),
    await grpc.failure(Pets.replacePet, { petId: await grpc.pet(), pet }),
    await grpc.failure(Pets.updatePet, { petId: await grpc.pet(), pet: { categoryId: NOBODY } }),
  ];
  for (const failure of unknownCategory) {
    const message = 'categoryId: category 999999 does not exist';
    expect(t, failure, Code.INVALID_ARGUMENT, 'UNKNOWN_CATEGORY', message);
  }
  const order = await grpc.failure(Orders.placeOrder, { order: { petId: NOBODY } });
  expect(t, order, Code.INVALID_ARGUMENT, 'UNKNOWN_PET', 'petId: pet 999999 does not exist');
});

test('FAILED_PRECONDITION - gives the numbers and a way out', async (t) => {
  const { grpc } = t.context;
  const petId = await grpc.pet({ stock: 3 });
  const { categoryId } = await grpc.call(Pets.getPet, { petId });
  const { FAILED_PRECONDITION } = Code;

  const stock = await grpc.failure(Orders.placeOrder, { order: { petId, quantity: 12 } });
  const message = `pet ${petId}: quantity 12 is more than the 3 in stock`;
  expect(t, stock, FAILED_PRECONDITION, 'INSUFFICIENT_STOCK', message);

  const orderId = await grpc.order({ petId, quantity: 1 });
  const pet = await grpc.failure(Pets.deletePet, { petId });
  expect(t, pet, FAILED_PRECONDITION, 'PET_IN_USE', /complete or cancel it first/);
  const category = await grpc.failure(Categories.deleteCategory, { categoryId });
  expect(t, category, FAILED_PRECONDITION, 'CATEGORY_IN_USE', /move or delete them first/);

  await grpc.call(Orders.updateOrder, { orderId, order: { complete: true } });
  for (const failure of [
    await grpc.failure(Orders.updateOrder, { orderId, order: { complete: false } }),
    await grpc.failure(Orders.cancelOrder, { orderId }),
  ]) {
    expect(t, failure, FAILED_PRECONDITION, 'ORDER_COMPLETE', /can't be reopened, changed or cancelled/);
  }
});

test('INTERNAL - does not contain the cause, which is logged with the request id', async (t) => {
  const { grpc, database, logs } = t.context;
  const other = await database.open();
  const sql = 'ALTER TABLE categories RENAME TO hidden';
  await other.transaction((tx) => tx.all(compile(sql, other.knex.raw(sql)), {}));
  await other.close();
  const metadata = { 'x-request-id': 'request-7' };
  for (const failure of [
    await grpc.failure(Categories.getCategory, { categoryId: 1n }, { metadata }),
    await grpc.failure(Categories.createCategory, { category: { name: 'Cats' } }, { metadata }),
  ]) {
    expect(t, failure, Code.INTERNAL, 'INTERNAL', 'something went wrong on our side; request id request-7');
    t.notRegex(JSON.stringify(failure.metadata.toJSON()), /SQLITE|categories|no such table/);
  }
  const causes = logs.filter(({ requestId, outcome }) => requestId === 'request-7' && outcome === 'INTERNAL');
  t.is(causes.length, 2);
  for (const { err } of causes) t.regex(err.message, /no such table/);
  const long = { 'x-request-id': 'x'.repeat(129) };
  const { message } = await grpc.failure(Categories.getCategory, { categoryId: 1n }, { metadata: long });
  t.regex(message, /request id [\da-f-]{36}$/, 'a long one would fill the logs');
});

test('INTERNAL - for a response that can not be serialized, logged with its cause and the request id', async (t) => {
  const { grpc, database, logs } = t.context;
  const petId = await grpc.pet();
  const other = await database.open();
  await other.write(compile('skip checks', other.knex.raw('PRAGMA ignore_check_constraints = ON')), {});
  await other.write(compile('too many', other.knex.raw('UPDATE pets SET quantity = 3000000000')), {});
  await other.close();
  const metadata = { 'x-request-id': 'request-8' };
  const failure = await grpc.failure(Inventory.getInventoryItem, { petId }, { metadata });
  expect(t, failure, Code.INTERNAL, 'INTERNAL', 'something went wrong on our side; request id request-8');
  const lines = logs.filter(({ requestId }) => requestId === 'request-8');
  t.deepEqual(
    lines.map(({ outcome }) => outcome),
    ['INTERNAL'],
  );
  t.regex(lines[0].err.message, /invalid int32: 3000000000/);
});

test('UNAVAILABLE - when the store is closing, with the time of a retry', async (t) => {
  const { grpc, store } = t.context;
  await grpc.category(); // the key is known from here on
  await store.close();
  const failure = await grpc.failure(Categories.createCategory, { category: { name: 'Cats' } });
  expect(t, failure, Code.UNAVAILABLE, 'UNAVAILABLE', /try again shortly/);
  t.deepEqual(failure.metadata.get('retry-after'), ['1']);
  t.deepEqual(failure.metadata.get('grpc-retry-pushback-ms'), ['1000']);
});

test('UNIMPLEMENTED - a method that does not exist', async (t) => {
  for (const path of ['/petstore.v1.PetService/FeedPet', '/petstore.v2.PetService/GetPet', '/nothing']) {
    t.is((await t.context.grpc.failureOfBytes(path, new Uint8Array())).code, Code.UNIMPLEMENTED);
  }
});

test('gRPC - no error has the headers of the REST side', async (t) => {
  const failure = await t.context.grpc.failure(Pets.getPet, { petId: NOBODY });
  t.deepEqual(failure.metadata.get('x-petstore-error'), []);
});
