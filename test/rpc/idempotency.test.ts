import { status as Code } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { holdTransaction } from '../support/hold-transaction.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const test = anyTest as TestFn<TestServer>;

test.beforeEach(async (t) => {
  t.context = await startTestServer();
});
test.afterEach.always((t) => t.context.close());

const key = (name: string) => ({ metadata: { 'idempotency-key': name } });
const CATS = { category: { name: 'Cats' } };

test('gRPC idempotency-key - methods that create replay the same message, marked as replayed', async (t) => {
  const { grpc } = t.context;
  const categoryId = await grpc.category();
  const petId = await grpc.pet({ stock: 5 });
  const calls = [
    () => grpc.exchange(Categories.createCategory, { category: { name: 'Dogs', description: '' } }, key('a')),
    () => grpc.exchange(Pets.createPet, { pet: { name: ' Rex ', categoryId } }, key('a')),
    () => grpc.exchange(Orders.placeOrder, { order: { petId, quantity: 2, complete: false } }, key('a')),
    () => grpc.exchange(Orders.placeOrder, { order: undefined }, key('b')),
  ];
  for (const call of calls) {
    const first = await call();
    t.deepEqual(first.headers.get('idempotency-replayed'), []);
    for (const _ of [1, 2]) {
      const again = await call();
      t.deepEqual(again.message, first.message);
      t.deepEqual(again.headers.get('etag'), first.headers.get('etag'));
      t.deepEqual(again.headers.get('idempotency-replayed'), ['true']);
    }
  }
  t.is((await grpc.call(Inventory.getInventoryItem, { petId })).quantity, 3);
});

test('gRPC idempotency-key - with another request is ALREADY_EXISTS, reason IDEMPOTENCY_KEY_REUSED', async (t) => {
  const { grpc } = t.context;
  await grpc.call(Categories.createCategory, CATS, key('a'));
  const failure = await grpc.failure(Categories.createCategory, { category: { name: 'Dogs' } }, key('a'));
  t.like(failure, { code: Code.ALREADY_EXISTS, reason: 'IDEMPOTENCY_KEY_REUSED', domain: 'petstore' });
  t.regex(failure.message, /new key/);
  const invalid = await grpc.failure(Categories.createCategory, { category: { name: '' } }, key('a'));
  t.is(invalid.code, Code.INVALID_ARGUMENT, 'an invalid request is INVALID_ARGUMENT first');
});

test('gRPC idempotency-key - a call that waits for another ends at its own deadline', async (t) => {
  const { grpc, store } = t.context;
  const commit = await holdTransaction(store);
  const patient = [1, 2].map(() => grpc.exchange(Categories.createCategory, CATS, key('a')));
  const impatient = await grpc.failure(Categories.createCategory, CATS, { ...key('a'), timeoutMs: 300 });
  t.is(impatient.code, Code.DEADLINE_EXCEEDED);
  await commit();
  const responses = await Promise.all(patient);
  t.deepEqual(responses[0]?.message, responses[1]?.message);
  t.deepEqual(responses.map(({ headers }) => headers.get('idempotency-replayed').join()).sort(), ['', 'true']);
  t.is((await grpc.call(Categories.listCategories, { pageToken: '' })).categories.length, 1);
});

test('gRPC idempotency-key - when the running call is cancelled, the next one that waits runs', async (t) => {
  const { grpc, store } = t.context;
  const commit = await holdTransaction(store);
  const impatient = grpc.failure(Categories.createCategory, CATS, { ...key('a'), timeoutMs: 300 });
  const patient = grpc.exchange(Categories.createCategory, CATS, key('a'));
  t.is((await impatient).code, Code.DEADLINE_EXCEEDED);
  await commit();
  await patient;
  t.is((await grpc.call(Categories.listCategories, { pageToken: '' })).categories.length, 1);
});
