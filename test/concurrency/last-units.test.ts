import anyTest, { type TestFn } from 'ava';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test('Orders - of 64 for the last 10 units exactly 10 succeed, the rest are INSUFFICIENT_STOCK', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 10 });
  const responses = await Promise.all(Array.from({ length: 64 }, () => rest.post('/store/orders', { petId })));
  const won = responses.filter(({ status }) => status === 201);
  t.is(won.length, 10);
  t.is(new Set(won.map(({ body }) => body.id)).size, 10);
  for (const { status, body } of responses.filter((response) => !won.includes(response))) {
    t.is(status, 409);
    t.is(body.code, 'INSUFFICIENT_STOCK');
    t.is(body.message, `pet ${petId}: quantity 1 is more than the 0 in stock`);
  }
  t.deepEqual((await rest.get(`/store/inventory/${petId}`)).body, { petId, quantity: 0, status: 'pending' });
  const listed = (await rest.get(`/store/orders?petId=${petId}&limit=100`)).body.map(({ id }: { id: number }) => id);
  t.deepEqual(
    listed,
    won.map(({ body }) => body.id).sort((a, b) => a - b),
  );
});

test('Orders - one that is completed and cancelled concurrently ends once', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const { id } = await rest.order({ petId, quantity: 5 });
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0 ? rest.patch(`/store/orders/${id}`, { complete: true }) : rest.delete(`/store/orders/${id}`),
    ),
  );
  const won = responses.filter(({ status }) => status < 300);
  t.is(won.length, 1);
  const isComplete = won[0]?.status === 200;
  const code = isComplete ? 'ORDER_COMPLETE' : 'ORDER_NOT_FOUND';
  for (const response of responses) if (!won.includes(response)) t.is(response.body.code, code);
  const { quantity, status } = (await rest.get(`/store/inventory/${petId}`)).body;
  t.deepEqual(
    { quantity, status },
    isComplete ? { quantity: 0, status: 'sold' } : { quantity: 5, status: 'available' },
  );
});

test('Pets - of a concurrent order and delete exactly one succeeds', async (t) => {
  const { rest } = t.context;
  for (let round = 0; round < 10; round += 1) {
    const petId = await rest.pet({ stock: 1 });
    const [ordered, deleted] = await Promise.all([
      rest.post('/store/orders', { petId }),
      rest.delete(`/pets/${petId}`),
    ]);
    const [order, pet] = [ordered.status, deleted.status];
    t.true((order === 201 && pet === 409) || (order === 400 && pet === 204), `${order} and ${pet}`);
  }
});

test('Categories - of a concurrent new pet and delete exactly one succeeds', async (t) => {
  const { rest } = t.context;
  for (let round = 0; round < 10; round += 1) {
    const categoryId = await rest.category();
    const [created, deleted] = await Promise.all([
      rest.post('/pets', { name: 'Tom', categoryId }),
      rest.delete(`/categories/${categoryId}`),
    ]);
    const [pet, category] = [created.status, deleted.status];
    t.true((pet === 201 && category === 409) || (pet === 400 && category === 204), `${pet} and ${category}`);
  }
});
