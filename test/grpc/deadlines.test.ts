/** Work that nobody waits for any more: a deadline that has passed, a caller that has left. */
import { Client, status as Code } from '@grpc/grpc-js';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { bearer, insecure } from '../support/grpc.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<TestServer>;

test.beforeEach(async (t) => {
  t.context = await startTestServer();
});
test.afterEach.always((t) => t.context.close());

/** Keeps the server from writing, as another process that holds the database would. */
async function holdDatabase({ context: { database } }: ExecutionContext<TestServer>): Promise<() => Promise<void>> {
  const other = await database.open();
  const { promise: end, resolve: release } = Promise.withResolvers<void>();
  const { promise: holds, resolve: begun } = Promise.withResolvers<void>();
  const holding = other.transaction(
    async () => {
      begun();
      await end;
    },
    () => true,
  );
  await holds;
  return async () => {
    release();
    await holding;
    await other.close();
  };
}

const names = async ({ context: { grpc } }: ExecutionContext<TestServer>) =>
  (await grpc.call(Categories.listCategories, { pageToken: '' })).categories.map(({ name }) => name);

test('Deadline - one that passes while a write waits for its turn ends the call, and the write is not carried out', async (t) => {
  const { grpc, logs } = t.context;
  await grpc.category('before');
  const letGo = await holdDatabase(t);
  const late = Array.from({ length: 5 }, () =>
    grpc.failure(Categories.createCategory, { category: { name: 'too late' } }, { timeoutMs: 300 }),
  );
  for (const { code } of await Promise.all(late)) t.is(code, Code.DEADLINE_EXCEEDED);
  await letGo();
  await grpc.category('after');
  t.deepEqual(await names(t), ['before', 'after']);
  const abandoned = () => logs.filter(({ outcome }) => outcome === 'DEADLINE_EXCEEDED').length;
  await until(() => abandoned() === 5, 'the end of the abandoned calls');
});

test('Deadline - one that is far away changes nothing', async (t) => {
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

test('Deadline - an order whose caller gave up takes no stock', async (t) => {
  const { grpc, store } = t.context;
  const petId = await grpc.pet({ stock: 5 });
  const letGo = await holdDatabase(t);
  const { code } = await grpc.failure(Orders.placeOrder, { order: { petId } }, { timeoutMs: 300 });
  t.is(code, Code.DEADLINE_EXCEEDED);
  await letGo();
  await grpc.category();
  t.is((await store.pets.find(petId))?.quantity, 5);
});

test('Cancelling - a caller who leaves while a write waits for its turn takes it back', async (t) => {
  const { grpc, address, key, logs } = t.context;
  await grpc.category('before');
  const letGo = await holdDatabase(t);
  const client = new Client(address, insecure);
  const { path, requestSerialize, responseDeserialize } = Categories.createCategory;
  const request = { category: { name: 'taken back' } };
  await new Promise<void>((resolve) => {
    const call = client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, bearer(key), (error) => {
      t.is(error?.code, Code.CANCELLED);
      resolve();
    });
    // By the time that another call on the channel is answered, the server has this one.
    const look = Pets.listPets;
    const nothing = { ids: [], pageToken: '' };
    client.makeUnaryRequest(look.path, look.requestSerialize, look.responseDeserialize, nothing, bearer(key), () =>
      call.cancel(),
    );
  });
  client.close();
  await grpc.call(Pets.listPets, { ids: [], pageToken: '' });
  await letGo();
  await until(() => logs.some(({ outcome }) => outcome === 'DEADLINE_EXCEEDED'), 'the end of the abandoned call');
  await grpc.category('after');
  t.deepEqual(await names(t), ['before', 'after']);
});
