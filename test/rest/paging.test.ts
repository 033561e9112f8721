/** Lists, page by page, through the whole. test/storage has them while rows come and go, test/rpc every wrong token. */
import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { nextOf, walk } from '../support/calls/pages.ts';
import { isInvalid } from '../support/contract/errors.ts';
import { LISTS, PUBLIC, requestsTo } from '../support/contract/resources.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';

/** Each list has as many rows, or more: one resource may need another. */
const ROWS = 101;
type Row = Readonly<Record<string, number>>;

const test = sharing(undefined, async (t) => {
  const stack = await startTestStack(t);
  const { rest } = stack;
  for (const { template } of PUBLIC.filter(({ takesIdempotencyKey }) => takesIdempotencyKey)) {
    const missing = ROWS - (await walk(rest, template)).flat().length;
    const makeOne = async () => {
      const [request] = await requestsTo(rest, (one) => one.takesIdempotencyKey && one.template === template);
      await rest.created(template, request?.json);
    };
    await Promise.all(Array.from({ length: missing }, makeOne));
  }
  return stack;
});

test.serial('Link - is the path of the next page, with the other query parameters unchanged', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  await Promise.all(Array.from({ length: 6 }, () => rest.pet({ categoryId })));
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

/** Two values or more. No row has two of them. */
function valuesOf({ enum: names, scalar, message }: DescField): readonly string[] {
  if (names) return names.values.flatMap(({ name, number }) => (number === 0 ? [] : name));
  if (scalar === ScalarType.BOOL) return ['true', 'false'];
  return message ? ['1970-01-01T00:00:00Z', '1970-01-01T00:00:01Z'] : ['9223372036854775806', '9223372036854775807'];
}

test('Filters - every parameter of every list selects: no row is in the lists of two of its values', async (t) => {
  const { rest } = t.context;
  for (const { template, queryParameters } of LISTS) {
    for (const [name, field] of queryParameters) {
      if (name === 'limit' || name === 'pageToken') continue;
      const lists = valuesOf(field).map((value) => rest.get(`${template}?limit=100&${name}=${value}`));
      const rows: readonly Row[] = (await Promise.all(lists)).flatMap(({ body }) => body);
      const ids = rows.map(({ id, petId }) => id ?? petId);
      t.is(new Set(ids).size, ids.length, `${template}?${name}`);
    }
  }
});

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
