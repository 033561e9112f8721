/** Lists, page by page, through the whole. test/storage has them while rows come and go. */
import { type DescField, fromJson, ScalarType, toBinary } from '@bufbuild/protobuf';
import { loadOperations, type Operation } from '../../src/platform/proto/operations.ts';
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

/** The field by which a list is ordered. */
const idOf = ({ response }: Operation) => response.list?.message?.fields[0]?.jsonName ?? '';

/** Two values or more. No row has two of them. */
function valuesOf({ enum: names, scalar, message }: DescField): readonly string[] {
  if (names) return names.values.flatMap(({ name, number }) => (number === 0 ? [] : name));
  if (scalar === ScalarType.BOOL) return ['true', 'false'];
  return message ? ['1970-01-01T00:00:00Z', '1970-01-01T00:00:01Z'] : ['9223372036854775806', '9223372036854775807'];
}

test('Filters - every parameter of every list selects: no row is in the lists of two of its values', async (t) => {
  const { rest } = t.context;
  for (const list of LISTS) {
    for (const [name, field] of list.queryParameters) {
      if (name === 'limit' || name === 'pageToken') continue;
      const lists = valuesOf(field).map((value) => rest.get(`${list.template}?limit=100&${name}=${value}`));
      const rows: readonly Row[] = (await Promise.all(lists)).flatMap(({ body }) => body);
      const ids = rows.map((row) => row[idOf(list)]);
      t.is(new Set(ids).size, ids.length, `${list.template}?${name}`);
    }
  }
});

for (const list of LISTS) {
  const [path, idName] = [list.template, idOf(list)];
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

/** The first byte of a list's tokens, also after an upgrade: never change one. The next free number is 8. */
const NUMBERS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(LISTS.map(({ path, pages }) => [path, pages])),
  '/apiplatform.admin.v1.AdminService/ListAccounts': 5,
  '/apiplatform.admin.v1.AdminService/ListKeys': 6,
  '/apiplatform.admin.v1.AdminService/ListBans': 7,
};

const lists = [...loadOperations().byPath.values()].filter(({ response }) => response.next?.parameter === 'pageToken');

test('Page tokens - every list has a number here, of its own', (t) => {
  t.deepEqual(lists.map(({ path }) => path).sort(), Object.keys(NUMBERS).sort());
  t.is(new Set(Object.values(NUMBERS)).size, lists.length);
});

/** The token of the largest id. */
const tokenOf = (list: number) => Buffer.of(list, 0x7f, ...Array(7).fill(0xff)).toString('base64url');
/** What is no token, or one in another spelling. */
const malformed = (good: string) => ['7', 'x', '\0', '💥', good.slice(1), good.slice(0, -1), `${good}A`, `${good}=`];

test('Page tokens - a list takes those with its number, and no others', async (t) => {
  const { grpc, operator, rest } = t.context;
  for (const { template } of LISTS.filter(({ queryParameters }) => queryParameters.has('ids'))) {
    isInvalid(t, await rest.get(`${template}?ids=1&pageToken=garbage`), 'pageToken'); // it has no pages
  }
  for (const { path, input } of lists) {
    const account = path.endsWith('/ListKeys') ? { accountId: '1' } : {};
    const asking = (pageToken: string) => {
      const bytes = Buffer.from(toBinary(input, fromJson(input, { ...account, pageToken })));
      return { path, requestSerialize: () => bytes, responseDeserialize: (response: Buffer) => response };
    };
    const caller = path.startsWith('/apiplatform.admin.') ? operator : grpc;
    const good = tokenOf(NUMBERS[path] ?? 0);
    await t.notThrowsAsync(caller.call(asking(good), undefined), path);
    const others = Array.from({ length: lists.length + 2 }, (_, list) => tokenOf(list)).filter((one) => one !== good);
    for (const token of [...others, ...malformed(good)]) {
      t.deepEqual((await caller.failure(asking(token), undefined)).fields, ['page_token'], `${path} ${token}`);
    }
  }
});
