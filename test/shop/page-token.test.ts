import assert from 'node:assert/strict';
import test from 'ava';
import fc from 'fast-check';
import { ApiError } from '../../src/errors.ts';
import { pageTokens } from '../../src/rpc/page-token.ts';

const LISTS = [201, 202, 255].map(pageTokens);
const [LIST = pageTokens(1)] = LISTS;
const tokenOf = (id: bigint, list = LIST) => list.next({ rows: [1n, id], hasMore: true }, (row) => row);

test('Page request - without a token and a limit it is the first 20', (t) => {
  t.deepEqual(LIST.toPageRequest({ pageToken: '' }), { after: 0n, limit: 20 });
  t.deepEqual(LIST.toPageRequest({ pageToken: '', limit: 100 }), { after: 0n, limit: 100 });
});

test('Page token - names the last row of its page, for any id and list, in characters of a query', (t) => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), fc.constantFrom(...LISTS), (id, list) => {
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
  for (const pageToken of ['7', 'x', '\0', '💥', ...cut, ...LISTS.slice(1).map((list) => tokenOf(7n, list))]) {
    const { code, violations } = t.throws(() => LIST.toPageRequest({ pageToken }), { instanceOf: ApiError }, pageToken);
    t.like([code, ...violations], ['INVALID_ARGUMENT', { path: 'pageToken', name: 'pageToken' }]);
  }
});

test('Page token - any text is a valid token or is refused', (t) => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'binary' }), (pageToken) => {
      try {
        assert.equal(tokenOf(LIST.toPageRequest({ pageToken }).after), pageToken);
      } catch (error) {
        assert(error instanceof ApiError);
      }
    }),
    { numRuns: 1_000 },
  );
  t.pass();
});

test('Page token - no two lists have the same number', (t) => {
  t.throws(() => pageTokens(201), { message: /^two lists have the page tokens 201: / });
});
