/** Lists, page by page, through the whole. test/storage has them while rows come and go, test/rpc every wrong token. */
import anyTest, { type TestFn } from 'ava';
import { nextOf, walk } from '../support/calls/pages.ts';
import { isInvalid } from '../support/contract/errors.ts';
import { LISTS, PUBLIC, requestsTo } from '../support/contract/resources.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';

const test = anyTest as TestFn<TestStack>;

/** Each list has as many rows, or more: one resource may need another. */
const ROWS = 101;
type Row = Readonly<Record<string, number>>;

test.before(async (t) => {
  t.context = await startTestStack();
  const { rest } = t.context;
  for (const { template } of PUBLIC.filter(({ takesIdempotencyKey }) => takesIdempotencyKey)) {
    const missing = ROWS - (await walk(rest, template)).flat().length;
    const makeOne = async () => {
      const [request] = await requestsTo(rest, (one) => one.takesIdempotencyKey && one.template === template);
      t.is((await rest.post(template, request?.json)).status, 201);
    };
    await Promise.all(Array.from({ length: missing }, makeOne));
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
    t.true(new Set(ids).size === ids.length && ids.length >= ROWS);
    t.true(ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0)));
    const pages = await walk<Row>(rest, `${path}?limit=7`);
    t.deepEqual(pages.flat(), whole);
    t.true(pages.slice(0, -1).every(({ length }) => length === 7));
    const exact = nextOf((await rest.get(`${path}?limit=${ids.length % 100 || 100}`)).headers) ?? '';
    const full = await walk<Row>(rest, exact.replace(/limit=\d+/, 'limit=100')); // whole pages, and the last
    t.true(full.every(({ length }) => length === 100));
  });
}
