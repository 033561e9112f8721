import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { LISTS, requestsTo } from '../../support/resources.ts';
import type { RestResponse } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;
type Test = ExecutionContext<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const STRONG = /^"[\w-]{22}"$/;

function etagOf({ headers }: RestResponse): string | null {
  return headers.get('etag');
}

/** The ETag of the resource at a path. */
async function tagAt({ context: { rest } }: Test, path: string): Promise<string | null> {
  return etagOf(await rest.get(path));
}

test('ETag - every response with one pet, category, order or inventory entry has a strong one', async (t) => {
  const { rest } = t.context;
  const requests = await requestsTo(rest, ({ isTagged }) => isTagged);
  const responses = await Promise.all(requests.map(({ method, path, json }) => rest.send(method, path, { json })));
  const reads = requests.filter(({ method }) => method === 'GET');
  responses.push(...(await Promise.all(reads.map(({ path }) => rest.send('HEAD', path)))));
  for (const response of responses) t.regex(etagOf(response) ?? 'none', STRONG, response.text);
});

test('ETag - lists, errors and responses without a body have none', async (t) => {
  const { rest } = t.context;
  const id = await rest.pet();
  const responses = [
    ...(await Promise.all(LISTS.map(({ template }) => rest.get(template)))),
    await rest.get(`/pets?ids=${id}`),
    await rest.get('/pets/999999'),
    await rest.put(`/pets/${id}`, {}),
    await rest.delete(`/pets/${id}`),
  ];
  for (const response of responses) t.is(etagOf(response), null, response.text);
});

test('ETag - is the same for the same representation, in responses to GET, HEAD, POST, PUT and PATCH', async (t) => {
  const { rest } = t.context;
  const shipDate = '2027-01-01T00:00:00.123456789Z';
  const categoryId = await rest.category();
  const petId = await rest.pet({ stock: 5 });
  const created = [
    ['/categories', await rest.post('/categories', { name: ' Cats ', description: '' })],
    ['/pets', await rest.post('/pets', { name: 'Tom 😀', categoryId, status: 'sold' })],
    ['/store/orders', await rest.post('/store/orders', { petId, quantity: 2, shipDate })],
    ['/store/orders', await rest.post('/store/orders', { shipDate: '1970-01-01T00:00:00Z' })],
    ['/store/orders', await rest.post('/store/orders')],
  ] as const;
  for (const [list, response] of created) {
    const path = `${list}/${response.body.id}`;
    const others = [await rest.get(path), await rest.send('HEAD', path), await rest.patch(path, {})];
    if (list !== '/store/orders') others.push(await rest.put(path, response.body));
    for (const other of others) t.is(etagOf(other), etagOf(response), response.text);
  }
  const set = await rest.put(`/store/inventory/${petId}`, { quantity: 7 });
  t.is(await tagAt(t, `/store/inventory/${petId}`), etagOf(set));
});

test('ETag - changes with the representation, and returns when the change is undone', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const path = `/pets/${await rest.pet({ categoryId, status: 'sold' })}`;
  const before = await tagAt(t, path);
  const changes = [{ name: 'Tim' }, { status: 'pending' }, { categoryId: await rest.category() }];
  const tags = [before];
  for (const change of changes) tags.push(etagOf(await rest.patch(path, change)));
  t.is(new Set(tags).size, tags.length);
  t.is(etagOf(await rest.put(path, { name: 'Tom', categoryId, status: 'sold' })), before);
  t.is(await tagAt(t, path), before);

  const category = `/categories/${categoryId}`;
  const bare = await tagAt(t, category);
  t.not(etagOf(await rest.patch(category, { description: '' })), bare); // an empty text is shown, an absent one is not
  t.is(etagOf(await rest.put(category, { name: 'Cats' })), bare);
});

test('ETag - is unchanged by a write that does not change the representation', async (t) => {
  const { rest } = t.context;
  const path = `/pets/${await rest.pet()}`;
  const { body, headers } = await rest.get(path);
  t.is(etagOf(await rest.patch(path, {})), headers.get('etag'));
  t.is(etagOf(await rest.put(path, { ...body, name: `  ${body.name} ` })), headers.get('etag'));
  await rest.pet();
  t.is(await tagAt(t, path), headers.get('etag'));
});

test('ETag - an order changes the tag of the inventory entry, and that of the pet only with its status', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 2 });
  const tags = () => Promise.all([tagAt(t, `/pets/${petId}`), tagAt(t, `/store/inventory/${petId}`)]);
  const [pet, entry] = await tags();
  const first = await rest.order({ petId });
  const [petWithOne, entryWithOne] = await tags();
  t.deepEqual([petWithOne === pet, entryWithOne === entry], [true, false]);
  const second = await rest.order({ petId }); // the last unit: the pet is pending now
  const [petWithout, entryWithout] = await tags();
  t.deepEqual([petWithout === pet, entryWithout === entryWithOne], [false, false]);
  for (const { id } of [first, second]) await rest.delete(`/store/orders/${id}`);
  t.deepEqual(await tags(), [pet, entry]);
});
