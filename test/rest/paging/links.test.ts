import anyTest, { type TestFn } from 'ava';
import { isInvalid } from '../../support/contract.ts';
import { nextOf, tokenOf, walk } from '../../support/pages.ts';
import { LISTS, requestsTo } from '../../support/resources.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

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
      ['?limit=20', 20],
      ['?limit=100', 100],
    ] as const) {
      t.is((await rest.get(path + query)).body.length, length);
    }
    for (const limit of ['0', '-1', '101', '2147483648', '1.5', 'abc', '']) {
      isInvalid(t, await rest.get(`${path}?limit=${limit}`), 'limit');
    }
  });

  test(`GET ${path} - following the links returns every row once, in ascending order of id`, async (t) => {
    const whole = (await walk<Row>(t.context.rest, `${path}?limit=100`)).flat();
    const ids = whole.map((row) => row[idName] ?? 0);
    t.is(new Set(ids).size, ROWS);
    t.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
    for (const limit of [7, 50, 99]) {
      const pages = await walk<Row>(t.context.rest, `${path}?limit=${limit}`);
      t.deepEqual(pages.flat(), whole);
      t.true(pages.slice(0, -1).every(({ length }) => length === limit));
    }
  });

  test(`GET ${path} - the last page has no Link, full or not`, async (t) => {
    const { rest } = t.context;
    const { headers } = await rest.get(`${path}?limit=100`);
    const last = await rest.get(nextOf(headers) ?? '');
    t.is(last.body.length, 1);
    t.false(last.headers.has('link'));
    const exact = nextOf((await rest.get(`${path}?limit=1`)).headers)?.replace('limit=1&', 'limit=100&') ?? '';
    const full = await rest.get(exact); // rows 2 to 101: a whole page, and the last
    t.is(full.body.length, 100);
    t.false(full.headers.has('link'));
  });

  test(`GET ${path} - a token of another list, a damaged one and any other text are a 400`, async (t) => {
    const { rest } = t.context;
    const tokens = await Promise.all(
      LISTS.map(async ({ template: other }) => [other, tokenOf(nextOf((await rest.get(other)).headers))] as const),
    );
    const [, token = ''] = tokens.find(([other]) => other === path) ?? [];
    const others = tokens.filter(([other]) => other !== path).map(([, foreign]) => foreign);
    const broken = [
      token.slice(1),
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      token.toLowerCase(),
      'x',
      '20',
      '%00',
    ];
    for (const bad of [...others, ...broken]) {
      isInvalid(t, await rest.get(`${path}?pageToken=${bad}`), 'pageToken');
    }
    t.is((await rest.get(`${path}?pageToken=${token}`)).status, 200);
  });
}

test('Link - is the path of the next page, with the other query parameters unchanged', async (t) => {
  const { rest } = t.context;
  const { body: pets } = await rest.get('/pets?limit=1');
  const encoded = [...`${pets[0].categoryId}`].map((digit) => `%3${digit}`).join('');
  const queries = [
    ['/pets', `limit=2&status=available&categoryId=${pets[0].categoryId}`],
    ['/pets/', `categoryId=${encoded}&limit=2`],
    ['/store/orders', 'complete=false&limit=2'],
    ['/store/inventory', 'status=available&limit=2'],
    ['/categories', 'limit=2'],
  ] as const;
  for (const [path, query] of queries) {
    const first = await rest.get(`${path}?${query}`);
    const next = nextOf(first.headers) ?? '';
    t.regex(next, /^[^?]+\?.*&pageToken=[\w-]+$/);
    t.true(next.startsWith(`${path}?${query}&pageToken=`), next);
    const second = nextOf((await rest.get(next)).headers) ?? '';
    t.true(second.startsWith(`${path}?${query}&pageToken=`), second); // one page token, the new one
    t.not(second, next);
  }
  const bare = nextOf((await rest.get('/categories')).headers) ?? '';
  t.regex(bare, /^\/categories\?pageToken=[\w-]+$/);
});

test('pageToken - the limit and the filters may change from page to page', async (t) => {
  const { rest } = t.context;
  const token = tokenOf(nextOf((await rest.get('/pets?limit=3')).headers));
  const { body: all } = await rest.get('/pets?limit=100');
  t.deepEqual((await rest.get(`/pets?limit=5&pageToken=${token}`)).body, all.slice(3, 8));
  t.deepEqual((await rest.get(`/pets?status=sold&pageToken=${token}`)).body, []);
});

test.serial('paging - a page of 100 rows of the maximum size is complete', async (t) => {
  const { rest } = t.context;
  // The characters with the longest JSON: twelve bytes each.
  const [name, description] = ['\u{E0041}'.repeat(200), '\u{E0041}'.repeat(2_000)];
  const before = (await walk(rest, '/categories?limit=100')).flat().length;
  const created = await Promise.all(
    Array.from({ length: 100 }, async () => (await rest.post('/categories', { name, description })).body.id as number),
  );
  const token = tokenOf(nextOf((await rest.get(`/categories?limit=1`)).headers));
  const [first, second] = await walk<{ id: number; description?: string }>(
    rest,
    `/categories?limit=100&pageToken=${token}`,
  );
  t.is(before, ROWS);
  t.is(first?.length, 100);
  t.deepEqual(
    second?.map(({ id }) => id),
    created.toSorted((a, b) => a - b),
  );
  t.true(second?.every((category) => category.description === description));
  await Promise.all(created.map((id) => rest.delete(`/categories/${id}`)));
});
