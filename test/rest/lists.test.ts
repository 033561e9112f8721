/** What is the lists' own of the shop. paging.test.ts has what holds for every list. */
import { nextOf } from '../support/calls/pages.ts';
import { stackTest } from '../support/service/shared-stack.ts';

const test = stackTest();

test.serial.before(async ({ context: { rest } }) => {
  await Promise.all(Array.from({ length: 101 }, () => rest.category()));
});

test('Link - is the path of the next page, with the other query parameters unchanged', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  await Promise.all(Array.from({ length: 6 }, () => rest.pet({ categoryId })));
  await Promise.all(Array.from({ length: 6 }, () => rest.order()));
  const encoded = [...`${categoryId}`].map((digit) => `%3${digit}`).join('');
  for (const start of [
    `/pets?limit=2&status=available&categoryId=${categoryId}&`,
    `/pets/?categoryId=${encoded}&limit=2&`,
    '/store/orders?complete=false&limit=2&',
    '/store/inventory?status=available&limit=2&',
    '/categories?',
  ]) {
    const next = nextOf((await rest.get(start.slice(0, -1))).headers) ?? '';
    const second = nextOf((await rest.get(next)).headers) ?? '';
    for (const path of [next, second]) {
      t.true(path.startsWith(`${start}pageToken=`), path);
      t.regex(path.slice(start.length), /^pageToken=[\w-]+$/); // one page token, the new one
    }
    t.not(second, next);
  }
});

test.serial('paging - a page of 100 rows of the maximum size is complete', async (t) => {
  const { rest } = t.context;
  const { body: first } = await rest.get('/categories?limit=100');
  // The characters with the longest JSON: twelve bytes each.
  const json = { name: '\u{E0041}'.repeat(200), description: '\u{E0041}'.repeat(2_000) };
  await Promise.all(first.map(({ id }: { id: number }) => rest.put(`/categories/${id}`, json)));
  const { body } = await rest.get('/categories?limit=100');
  t.deepEqual(
    body,
    first.map(({ id }: { id: number }) => ({ id, ...json })),
  );
});
