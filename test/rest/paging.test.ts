/** Lists, page by page, through the whole. test/storage has them while rows come and go. */
import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { loadOperations, type Operation } from '../../src/platform/proto/operations.ts';
import { nextOf, walk } from '../support/calls/rest-client.ts';
import { isInvalid } from '../support/contract/errors.ts';
import { LISTS, overGrpc, requestInto, requestTo } from '../support/contract/resources.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';

const ROWS = 101;
type Row = Readonly<Record<string, string | number>>;
type List = (typeof LISTS)[number];

const test = sharing(undefined, async (t) => {
  const stack = await startTestStack(t);
  const { rest } = stack;
  const paths = new Map<List, string>();
  for (const list of LISTS) {
    const { path, ids } = await requestTo(rest, list);
    paths.set(list, path);
    const makeOne = async () => {
      const request = await requestInto(rest, list, ids);
      if (request !== undefined) await rest.created(request.path, request.json);
    };
    const missing = ROWS - (await walk(rest, path)).flat().length;
    await Promise.all(Array.from({ length: missing }, makeOne));
  }
  return { ...stack, pathOf: (list: List) => paths.get(list) ?? list.template };
});

/** What tells rows apart. */
const idOf = ({ response }: Operation) => response.list?.message?.fields[0]?.jsonName ?? '';

/** The values of a field in the order of the list. A time is a message: a text, whose precision may differ. */
function valuesIn(rows: readonly Row[], { by, response }: List) {
  const isTime = response.list?.message?.fields.find(({ jsonName }) => jsonName === by)?.message !== undefined;
  return rows.map(({ [by]: value = 0 }) => (isTime ? Date.parse(String(value)) : value));
}

/** Two values or more. No row has two of them. */
function valuesOf({ enum: names, scalar, message }: DescField): readonly string[] {
  if (names) return names.values.flatMap(({ name, number }) => (number === 0 ? [] : name));
  if (scalar === ScalarType.BOOL) return ['true', 'false'];
  if (scalar === ScalarType.STRING) return ['one', 'another'];
  return message ? ['1970-01-01T00:00:00Z', '1970-01-01T00:00:01Z'] : ['9223372036854775806', '9223372036854775807'];
}

test('Filters - every parameter of every list selects: no row is in the lists of two of its values', async (t) => {
  const { rest, pathOf } = t.context;
  for (const list of LISTS) {
    for (const [name, field] of list.queryParameters) {
      if (['limit', 'pageToken', list.range?.from, list.range?.to].includes(name)) continue;
      const lists = valuesOf(field).map((value) => rest.get(`${pathOf(list)}?limit=100&${name}=${value}`));
      const rows: readonly Row[] = (await Promise.all(lists)).flatMap(({ body }) => body);
      const ids = rows.map((row) => row[idOf(list)]);
      t.is(new Set(ids).size, ids.length, `${list.template}?${name}`);
    }
  }
});

for (const list of LISTS) {
  const [path, idName] = [list.template, idOf(list)];
  test(`GET ${path} - limit is 1 to 100, and 20 by default`, async (t) => {
    const { rest, pathOf } = t.context;
    for (const [query, length] of [
      ['', 20],
      ['?limit=1', 1],
      ['?limit=100', 100],
    ] as const) {
      t.is((await rest.get(pathOf(list) + query)).body.length, length);
    }
    for (const limit of ['0', '-1', '101', '2147483648', '1.5', 'abc', '']) {
      isInvalid(t, await rest.get(`${pathOf(list)}?limit=${limit}`), 'limit');
    }
  });

  const order = list.isDescending ? 'descending' : 'ascending';
  test(`GET ${path} - following the links returns every row once, in ${order} order of ${list.by}`, async (t) => {
    const { rest, pathOf } = t.context;
    const whole = (await walk<Row>(rest, `${pathOf(list)}?limit=100`)).flat();
    const ids = whole.map((row) => row[idName]);
    t.true(new Set(ids).size === ids.length && ids.length >= ROWS);
    const values = valuesIn(whole, list);
    const ascending = list.isDescending ? values.toReversed() : values;
    t.true(ascending.every((value, at) => at === 0 || (ascending[at - 1] ?? value) <= value));
    const pages = await walk<Row>(rest, `${pathOf(list)}?limit=7`);
    t.deepEqual(pages.flat(), whole);
    t.true(pages.slice(0, -1).every(({ length }) => length === 7));
    const exact = nextOf((await rest.get(`${pathOf(list)}?limit=${ids.length % 100 || 100}`)).headers) ?? '';
    const full = await walk<Row>(rest, exact.replace(/limit=\d+/, 'limit=100')); // whole pages, and the last
    t.true(full.every(({ length }) => length === 100));
  });

  if (list.idName !== undefined) {
    test(`GET ${path} - has what is in it, and nothing of another`, async (t) => {
      const { rest } = t.context;
      const { path: other, ids } = await requestTo(rest, list);
      const request = await requestInto(rest, list, ids);
      if (request === undefined) return void t.pass('nothing makes what it lists');
      const made = await rest.created(request.path, request.json);
      const listed = (await walk<Row>(rest, other)).flat().map((row) => row[idName]);
      t.deepEqual(listed, [made[idName]]);
    });
  }

  const { range } = list;
  if (range === undefined) continue;
  test(`GET ${path} - ${range.from} and ${range.to} show what is between, with ${range.from} itself`, async (t) => {
    const { rest, pathOf } = t.context;
    const whole = (await walk<Row>(rest, `${pathOf(list)}?limit=100`)).flat();
    const all = valuesIn(whole, list);
    const ends = [20, 70].sort((one, other) => ((all[one] ?? 0) < (all[other] ?? 0) ? -1 : 1));
    const [from, to] = ends.map((at) => encodeURIComponent(String(whole[at]?.[list.by])));
    const [first = 0, last = 0] = ends.map((at) => all[at]);
    const between = await walk<Row>(rest, `${pathOf(list)}?limit=7&${range.from}=${from}&${range.to}=${to}`);
    const expected = whole.filter((_, at) => (all[at] ?? 0) >= first && (all[at] ?? 0) < last);
    t.deepEqual(between.flat(), expected);
    t.true(expected.length > 0 && expected.length < whole.length);
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

const tokenOf = (list: number) => Buffer.of(list, 0x7f, ...Array(7).fill(0xff)).toString('base64url');
/** What is no token, or one in another spelling. */
const malformed = (good: string) => ['7', 'x', '\0', '💥', good.slice(1), good.slice(0, -1), `${good}A`, `${good}=`];
/** The same token with the number of another list. */
const withNumber = (token: string, list: number) =>
  Buffer.concat([Buffer.of(list), Buffer.from(token, 'base64url').subarray(1)]).toString('base64url');

test('Page tokens - a list takes those with its number, and no others', async (t) => {
  const { grpc, operator, rest, pathOf } = t.context;
  for (const { template } of LISTS.filter(({ queryParameters }) => queryParameters.has('ids'))) {
    isInvalid(t, await rest.get(`${template}?ids=1&pageToken=garbage`), 'pageToken'); // it has no pages
  }
  for (const operation of lists) {
    const { path } = operation;
    const list = LISTS.find((one) => one.path === path);
    const next = list && nextOf((await rest.get(`${pathOf(list)}?limit=1`)).headers);
    const parent = list && new RegExp(`^${list.template.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`).exec(pathOf(list));
    const ids = path.endsWith('/ListKeys') ? { accountId: '1' } : { ...parent?.groups };
    const asking = (pageToken: string) => overGrpc(operation, { ...ids, pageToken });
    const caller = path.startsWith('/apiplatform.admin.') ? operator : grpc;
    const number = NUMBERS[path] ?? 0;
    const good = next ? (new URLSearchParams(next.split('?')[1]).get('pageToken') ?? '') : tokenOf(number);
    t.is(Buffer.from(good, 'base64url')[0], number, path);
    await t.notThrowsAsync(caller.call(asking(good), undefined), path);
    const numbers = Array.from({ length: lists.length + 2 }, (_, index) => index).filter((one) => one !== number);
    for (const token of [...numbers.map((one) => withNumber(good, one)), ...malformed(good)]) {
      t.deepEqual((await caller.failure(asking(token), undefined)).fields, ['page_token'], `${path} ${token}`);
    }
  }
});
