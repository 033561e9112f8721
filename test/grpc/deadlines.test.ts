/** Work that nobody waits for any more: a deadline that has passed, a caller that has left. */
import { status as Code } from '@grpc/grpc-js';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { toPetId } from '../../src/model.ts';
import type { UnaryMethod } from '../support/grpc.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { beginCall } from '../support/unfinished-call.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<TestServer>;

test.beforeEach(async (t) => {
  t.context = await startTestServer();
});
test.afterEach.always((t) => t.context.close());

/**
 * Keeps the server from writing, as another process that holds the database would. A writer that waits occupies one of
 * Node's four threads for files, and this process has both sides: so one test at a time.
 */
async function holdDatabase({ context: { database } }: ExecutionContext<TestServer>): Promise<() => Promise<void>> {
  const other = await database.open();
  const { promise: end, resolve: release } = Promise.withResolvers<void>();
  const { promise: holds, resolve: begun } = Promise.withResolvers<void>();
  const holding = other.transaction(async () => {
    begun();
    await end;
  });
  await holds;
  return async () => {
    release();
    await holding;
    await other.close();
  };
}

const names = async ({ context: { grpc } }: ExecutionContext<TestServer>) =>
  (await grpc.call(Categories.listCategories, { pageToken: '' })).categories.map(({ name }) => name);

/** Makes a call that the server ends by itself when its time is up. */
async function expire<Q, A>(t: ExecutionContext<TestServer>, method: UnaryMethod<Q, A>, request: Q): Promise<void> {
  const { address, key } = t.context;
  const call = await beginCall(address, key, method, request, 300);
  await t.throwsAsync(call.finish(), { message: `the call ended with grpc-status ${Code.DEADLINE_EXCEEDED}` });
}

test.serial(
  'Deadline - one that passes while a write waits for its turn ends the call, and the write is not carried out',
  async (t) => {
    const { grpc, logs } = t.context;
    await grpc.category('before');
    const letGo = await holdDatabase(t);
    const request = { category: { name: 'too late' } };
    await Promise.all(Array.from({ length: 5 }, () => expire(t, Categories.createCategory, request)));
    await letGo();
    await grpc.category('after');
    t.deepEqual(await names(t), ['before', 'after']);
    const abandoned = () => logs.filter(({ outcome }) => outcome === 'DEADLINE_EXCEEDED').length;
    await until(() => abandoned() === 5, 'the end of the abandoned calls');
  },
);

test.serial("Deadline - the caller's own comes to the same", async (t) => {
  const letGo = await holdDatabase(t);
  const request = { category: { name: 'too late' } };
  const { code } = await t.context.grpc.failure(Categories.createCategory, request, { timeoutMs: 300 });
  t.is(code, Code.DEADLINE_EXCEEDED);
  await letGo();
});

test.serial('Deadline - one that is far away changes nothing', async (t) => {
  const letGo = await holdDatabase(t);
  const created = t.context.grpc.call(
    Categories.createCategory,
    { category: { name: 'in time' } },
    { timeoutMs: 60_000 },
  );
  await t.context.grpc.call(Pets.listPets, { ids: [], pageToken: '' }); // a whole trip meanwhile
  await letGo();
  t.is((await created).name, 'in time');
});

test.serial('Deadline - an order whose time is up takes no stock', async (t) => {
  const { grpc, store } = t.context;
  const petId = await grpc.pet({ stock: 5 });
  const letGo = await holdDatabase(t);
  await expire(t, Orders.placeOrder, { order: { petId } });
  await letGo();
  await grpc.category();
  t.is((await store.pets.find(toPetId(petId)))?.quantity, 5);
});

test.serial('Cancelling - a caller who leaves while a write waits for its turn takes it back', async (t) => {
  const { grpc, address, key, logs } = t.context;
  await grpc.category('before');
  const letGo = await holdDatabase(t);
  const call = await beginCall(address, key, Categories.createCategory, { category: { name: 'taken back' } });
  await call.cancel();
  await letGo();
  await until(() => logs.some(({ outcome }) => outcome === 'DEADLINE_EXCEEDED'), 'the end of the abandoned call');
  await grpc.category('after');
  t.deepEqual(await names(t), ['before', 'after']);
});
