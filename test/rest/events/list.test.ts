/** GET /events: the list. */
import anyTest, { type TestFn } from 'ava';
import { isInvalid } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

/** The id of the newest event. */
async function newest({ rest }: TestStack): Promise<number> {
  const ids: number[] = [];
  for (let after = 0; ; after = ids.at(-1) ?? after) {
    const { body, headers } = await rest.get(`/events?limit=100&after=${after}`);
    ids.push(...body.map(({ id }: { id: number }) => id));
    if (headers.get('link') === null) return ids.at(-1) ?? 0;
  }
}

test.serial(
  'GET /events - every change of a pet, its stock, a category or an order is one event, as it was then',
  async (t) => {
    const { rest } = t.context;
    const after = await newest(t.context);
    const categoryId = await rest.category('Cats');
    const petId = await rest.pet({ categoryId, name: 'Tom' });
    await rest.patch(`/categories/${categoryId}`, { description: 'small' });
    await rest.put(`/store/inventory/${petId}`, { quantity: 2 });
    const { body: order } = await rest.post('/store/orders', { petId, quantity: 2, shipDate: '2026-01-01T00:00:00Z' });
    await rest.delete(`/store/orders/${order.id}`);
    await rest.delete(`/pets/${petId}`);
    await rest.delete(`/categories/${categoryId}`);
    const { status, body } = await rest.get(`/events?after=${after}`);
    t.is(status, 200);
    const pet = { id: petId, name: 'Tom', categoryId, status: 'available' };
    const stock = (quantity: number, petStatus = 'available') => ({ petId, quantity, status: petStatus });
    const category = { id: categoryId, name: 'Cats' };
    t.deepEqual(
      body.map(({ id, time, ...event }: { id: number; time: string }) => event),
      [
        { type: 'category.created', category },
        { type: 'pet.created', pet, inventory: stock(0) },
        { type: 'category.updated', category: { ...category, description: 'small' } },
        { type: 'pet.updated', pet, inventory: stock(2) },
        { type: 'order.created', order },
        { type: 'pet.updated', pet: { ...pet, status: 'pending' }, inventory: stock(0, 'pending') },
        { type: 'order.deleted', order },
        { type: 'pet.updated', pet, inventory: stock(2) },
        { type: 'pet.deleted', pet, inventory: stock(2) },
        { type: 'category.deleted', category: { ...category, description: 'small' } },
      ],
    );
    for (const { time } of body) t.regex(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  },
);

test.serial('GET /events - a PUT of the same values stores none', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category('Cats');
  const petId = await rest.pet({ categoryId, name: 'Tom' });
  const after = await newest(t.context);
  await rest.put(`/pets/${petId}`, { categoryId, name: 'Tom' });
  await rest.put(`/categories/${categoryId}`, { name: 'Cats' });
  await rest.put(`/store/inventory/${petId}`, { quantity: 0 });
  t.is((await rest.get(`/events?after=${after}`)).text, '[]');
});

test.serial('GET /events - a refused write stores none', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({});
  const after = await newest(t.context);
  t.is((await rest.post('/store/orders', { petId, quantity: 1 })).status, 409);
  t.is((await rest.post('/pets', { name: 'Tom', categoryId: 999_999 })).status, 400);
  t.is((await rest.delete('/pets/999999')).status, 404);
  t.is((await rest.get(`/events?after=${after}`)).text, '[]');
});

test.serial('GET /events - while there is more, Link is the next page, with the other parameters kept', async (t) => {
  const { rest } = t.context;
  const after = await newest(t.context);
  for (let index = 0; index < 5; index += 1) await rest.category(`${index}`);
  const seen: number[] = [];
  let path: string | undefined = `/events?types=category.created&limit=2&after=${after}`;
  for (let pages = 0; path !== undefined; pages += 1) {
    t.true(pages < 4);
    const page: Awaited<ReturnType<typeof rest.get>> = await rest.get(path);
    seen.push(...page.body.map(({ id }: { id: number }) => id));
    path = /^<(.*)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1];
    if (path !== undefined) t.regex(path, /^\/events\?types=category\.created&limit=2&after=\d+$/);
  }
  t.is(seen.length, 5);
  t.deepEqual(
    seen,
    seen.toSorted((one, other) => one - other),
  );
});

test.serial('GET /events - types selects, and may be repeated', async (t) => {
  const { rest } = t.context;
  const after = await newest(t.context);
  await rest.delete(`/pets/${await rest.pet({})}`);
  const { body } = await rest.get(`/events?types=pet.deleted&types=pet.created&after=${after}`);
  t.deepEqual(
    body.map(({ type }: { type: string }) => type),
    ['pet.created', 'pet.deleted'],
  );
});

test.serial('GET /events - a bad parameter is a 400 that names it', async (t) => {
  const { rest } = t.context;
  isInvalid(t, await rest.get('/events?after=-1'), 'after');
  isInvalid(t, await rest.get('/events?after=999999999'), 'after');
  isInvalid(t, await rest.get('/events?limit=101'), 'limit');
  isInvalid(t, await rest.get('/events?types=pet'), 'types[0]');
  isInvalid(t, await rest.get('/events?colour=red'), 'colour');
});

test.serial('HEAD /events and /events/stream - have the headers of GET and no body', async (t) => {
  const { rest } = t.context;
  const list = await rest.send('HEAD', '/events?limit=1');
  t.is(list.status, 200);
  t.is(list.headers.get('content-type'), 'application/json');
  const stream = await rest.send('HEAD', '/events/stream');
  t.is(stream.status, 200);
  t.is(stream.headers.get('content-type'), 'text/event-stream');
  t.is(stream.text, '');
});
