/** Page tokens, and those of every list. Callers hold tokens, also across an upgrade. */
import assert from 'node:assert/strict';
import { fromJson, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { ApiError } from '../../src/platform/errors.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { pageTokens } from '../../src/platform/rpc/page-token.ts';
import { LISTS } from '../support/contract/resources.ts';
import { serverTest } from '../support/service/shared-stack.ts';

/** The first byte of a list's tokens. Never change one. The next free number is 8. */
const NUMBERS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(LISTS.map(({ path, pages }) => [path, pages])),
  '/apiplatform.admin.v1.AdminService/ListAccounts': 5,
  '/apiplatform.admin.v1.AdminService/ListKeys': 6,
  '/apiplatform.admin.v1.AdminService/ListBans': 7,
};

const OPERATOR_KEY = 'an-operator-key-of-a-test';
const lists = [...loadOperations().byPath.values()].filter(({ response }) => response.next?.parameter === 'pageToken');

const test = serverTest({ OPERATOR_KEY });

test('Page tokens - every list has a number here, of its own', (t) => {
  t.deepEqual(lists.map(({ path }) => path).sort(), Object.keys(NUMBERS).sort());
  t.is(new Set(Object.values(NUMBERS)).size, lists.length);
});

test('Page tokens - a list takes those with its number, and no others', async (t) => {
  const { grpc } = t.context;
  const operator = grpc.withKey(OPERATOR_KEY);
  t.teardown(() => operator.close());
  for (const { path, input } of lists) {
    const account = path.endsWith('/ListKeys') ? { accountId: '1' } : {};
    const asking = (list: number) => {
      const pageToken = Buffer.of(list, 0, 0, 0, 0, 0, 0, 0, 9).toString('base64url');
      const bytes = Buffer.from(toBinary(input, fromJson(input, { ...account, pageToken })));
      return { path, requestSerialize: () => bytes, responseDeserialize: (response: Buffer) => response };
    };
    const caller = path.startsWith('/apiplatform.admin.') ? operator : grpc;
    for (let list = 0; list <= Object.keys(NUMBERS).length + 1; list += 1) {
      if (list === NUMBERS[path]) await t.notThrowsAsync(caller.call(asking(list), undefined), path);
      else t.deepEqual((await caller.failure(asking(list), undefined)).fields, ['page_token'], `${path} ${list}`);
    }
  }
});

const THREE = [201, 202, 255].map(pageTokens);
const [LIST = pageTokens(1)] = THREE;
const tokenOf = (id: bigint, list = LIST) => list.next({ rows: [1n, id], hasMore: true }, (row) => row);

test('Page token - names the last row of its page, for any id and list, in characters of a query', (t) => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), fc.constantFrom(...THREE), (id, list) => {
      const pageToken = tokenOf(id, list);
      assert.match(pageToken, /^[\w-]+$/);
      assert.deepEqual(list.toPageRequest({ pageToken }), { after: id, limit: 20 });
    }),
  );
  for (const rows of [[1n, 2n], []]) t.is(LIST.next({ rows, hasMore: false }, String as never), '', 'the last page');
});

test('Page token - of another list, made-up, cut, padded or changed it is refused, naming pageToken', (t) => {
  const good = tokenOf(7n);
  const cut = [good.slice(1), good.slice(0, -1), `${good}A`, `${good}=`, ` ${good}`, good.repeat(2)];
  for (const pageToken of ['7', 'x', '\0', '💥', ...cut, ...THREE.slice(1).map((list) => tokenOf(7n, list))]) {
    const { code, violations } = t.throws(() => LIST.toPageRequest({ pageToken }), { instanceOf: ApiError }, pageToken);
    t.like([code, ...violations], ['INVALID_ARGUMENT', { path: 'page_token', name: 'pageToken' }]);
  }
});
