/** Pages through the whole. test/storage has them while rows come and go, test/rpc every wrong token. */
import anyTest, { type TestFn } from 'ava';
import { isInvalid } from '../support/contract.ts';
import { nextOf, walk } from '../support/pages.ts';
import { LISTS, requestsTo } from '../support/resources.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

const ROWS = 101;
type Row = Readonly<Record<string, number>>;

test.before(async (t) => {
  t.context = await startTestStack();
  const { rest } = t.context;
  for (const { path, json } of await requestsTo(rest, ({ takesIdempotencyKey }) => takesIdempotencyKey)) {
    const missing = ROWS - (await walk(rest, path)).flat().length;
    await Promise.all(Array.from({ length: missing }, () => rest.post(path, json)));
  }
});
test.after.always((t) => t.context.close());

for (const { template: path, response } of LISTS) {
  const idName = response.list?.message?.fields[0]?.jsonName ?? '';
  test(`GET ${path} - limit is 1 to 100, and 20 by default`, async (t) => {
    const { rest } = t.context;
    for (const [query, length] of [
      ['', 20],
      ['?limit=1', 1],
      ['?limit=100', 100],
    ] as const) {
      t.is((await rest.get(path + query)).body.length, length);
    }
    for (const limit of ['0', '-1', '101', '2147483648', '1.5', 'abc', '']) {
      isInvalid(t, await rest.get(`${path}?limit=${limit}`), 'limit');
    }
  });

  test(`GET ${path} - following the links returns every row once, in ascending order of id`, async (t) => {
    const { rest } = t.context;
    const whole = (await walk<Row>(rest, `${path}?limit=100`)).flat();
    const ids = whole.map((row) => row[idName] ?? 0);
    t.is(new Set(ids).size, ROWS);
    t.true(ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0)));
    const pages = await walk<Row>(rest, `${path}?limit=7`);
    t.deepEqual(pages.flat(), whole);
    t.true(pages.slice(0, -1).every(({ length }) => length === 7));
    const exact = nextOf((await rest.get(`${path}?limit=1`)).headers)?.replace('limit=1&', 'limit=100&') ?? '';
    const full = await rest.get(exact); // rows 2 to 101: a whole page, and the last
    t.is(full.body.length, 100);
    t.false(full.headers.has('link'));
  });
}

test('Link - is the path of the next page, with the other query parameters unchanged', async (t) => {
  const { rest } = t.context;
  const { body: pets } = await rest.get('/pets?limit=1');
  const encoded = [...`${pets[0].categoryId}`].map((digit) => `%3${digit}`).join('');
  for (const start of [
    `/pets?limit=2&status=available&categoryId=${pets[0].categoryId}&`,
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
