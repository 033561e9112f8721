import anyTest, { type TestFn } from 'ava';
import { isInvalid } from '../../support/contract.ts';
import type { RestClient } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

/** The ids of a list, in its order. */
async function idsOf(rest: RestClient, path: string): Promise<number[]> {
  const { status, text, body } = await rest.get(path);
  if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text}`);
  return body.map(({ id }: { id: number }) => id);
}

test('GET /pets - returns a bare array of pets in ascending order of id', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const first = await rest.pet({ categoryId, name: 'Tom' });
  const second = await rest.pet({ categoryId, name: 'Ada', status: 'sold' });
  const { status, headers, body } = await rest.get(`/pets?categoryId=${categoryId}`);
  t.is(status, 200);
  t.is(headers.get('content-type'), 'application/json');
  t.deepEqual(body, [
    { id: first, name: 'Tom', categoryId, status: 'available' },
    { id: second, name: 'Ada', categoryId, status: 'sold' },
  ]);
});

test('GET /pets - an empty list is an empty array', async (t) => {
  const { rest } = t.context;
  t.is((await rest.get(`/pets?categoryId=${await rest.category()}`)).text, '[]');
  t.is((await rest.get('/pets?categoryId=999999')).text, '[]'); // an unknown category is not an error
  t.is((await rest.get('/pets?ids=999999')).text, '[]');
});

test('GET /pets - status and categoryId filter the list, also together', async (t) => {
  const { rest } = t.context;
  const [cats, dogs] = [await rest.category('Cats'), await rest.category('Dogs')];
  const soldCat = await rest.pet({ categoryId: cats, status: 'sold' });
  const cat = await rest.pet({ categoryId: cats });
  const soldDog = await rest.pet({ categoryId: dogs, status: 'sold' });
  t.deepEqual(await idsOf(rest, `/pets?categoryId=${cats}`), [soldCat, cat]);
  t.deepEqual(await idsOf(rest, `/pets?categoryId=${cats}&status=sold`), [soldCat]);
  t.deepEqual(await idsOf(rest, `/pets?status=sold&categoryId=${dogs}`), [soldDog]);
  const sold = await idsOf(rest, '/pets?status=sold&limit=100');
  t.true(sold.includes(soldCat) && sold.includes(soldDog) && !sold.includes(cat));
});

test('GET /pets - the zero value of the status, or any other text, is not a filter', async (t) => {
  const { rest } = t.context;
  for (const status of ['PET_STATUS_UNSPECIFIED', '0', 'SOLD', 'gone', '']) {
    isInvalid(t, await rest.get(`/pets?status=${status}`), 'status');
  }
});

test('GET /pets?ids - returns each existing pet once, in order of id', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const [a, b, c] = [await rest.pet({ categoryId }), await rest.pet({ categoryId }), await rest.pet({ categoryId })];
  await rest.delete(`/pets/${b}`);
  t.deepEqual(await idsOf(rest, `/pets?ids=${c}&ids=${a}&ids=${c}`), [a, c]);
  t.deepEqual(await idsOf(rest, `/pets?ids=${a}&ids=${b}&ids=0&ids=-5&ids=9223372036854775807`), [a]);
});

test('GET /pets?ids - the other filters apply too', async (t) => {
  const { rest } = t.context;
  const [cats, dogs] = [await rest.category('Cats'), await rest.category('Dogs')];
  const soldCat = await rest.pet({ categoryId: cats, status: 'sold' });
  const cat = await rest.pet({ categoryId: cats });
  const soldDog = await rest.pet({ categoryId: dogs, status: 'sold' });
  const all = `ids=${soldDog}&ids=${cat}&ids=${soldCat}`;
  t.deepEqual(await idsOf(rest, `/pets?${all}&status=sold`), [soldCat, soldDog]);
  t.deepEqual(await idsOf(rest, `/pets?${all}&categoryId=${cats}`), [soldCat, cat]);
  t.deepEqual(await idsOf(rest, `/pets?${all}&categoryId=${cats}&status=pending`), []);
});

test('GET /pets?ids - accepts at most 100 ids, and returns all pets without pages', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const pets = await Promise.all(Array.from({ length: 30 }, () => rest.pet({ categoryId })));
  const query = (ids: number[]) => ids.map((id) => `ids=${id}`).join('&');
  const absent = Array.from({ length: 70 }, (_, i) => 800_000 + i);
  for (const limit of ['', '&limit=1']) {
    const { status, headers, body } = await rest.get(`/pets?${query([...absent, ...pets])}${limit}`);
    t.is(status, 200);
    t.is(body.length, 30);
    t.false(headers.has('link'));
  }
  isInvalid(t, await rest.get(`/pets?${query([...absent, ...pets, 1])}`), 'ids');
});

test('GET /pets/{petId} - returns the pet', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const id = await rest.pet({ categoryId, name: 'Tom', status: 'pending' });
  const { status, body } = await rest.get(`/pets/${id}`);
  t.is(status, 200);
  t.deepEqual(body, { id, name: 'Tom', categoryId, status: 'pending' });
  t.deepEqual((await rest.get(`/pets/${id}/`)).body, body);
});
