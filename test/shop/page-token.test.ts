import assert from 'node:assert/strict';
import test from 'ava';
import fc from 'fast-check';
import { ApiError } from '../../src/errors.ts';
import { pageTokens } from '../../src/rpc/page-token.ts';

const LISTS = [201, 202, 255].map(pageTokens);
const [LIST = pageTokens(1)] = LISTS;
const MAX_ID = 2n ** 63n - 1n;
const idOf = (id: bigint) => id;

function pageAfter(...ids: bigint[]) {
  return { rows: ids, hasMore: true };
}

test('Page request - without a token and a limit it is the first 20', (t) => {
  t.deepEqual(LIST.toPageRequest({ pageToken: '' }), { after: 0n, limit: 20 });
});

test('Page request - a limit is kept', (t) => {
  t.deepEqual(LIST.toPageRequest({ pageToken: '', limit: 100 }), { after: 0n, limit: 100 });
});

test('Page token - names the last row of its page, for any id and list', (t) => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: MAX_ID }), fc.constantFrom(...LISTS), (id, list) => {
      const pageToken = list.next(pageAfter(1n, id), idOf);
      assert.deepEqual(list.toPageRequest({ pageToken }), { after: id, limit: 20 });
    }),
  );
  t.pass();
});

test('Page token - is safe in a query without escaping', (t) => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: MAX_ID }), (id) => {
      assert.match(LIST.next(pageAfter(id), idOf), /^[\w-]+$/);
    }),
  );
  t.pass();
});

test('Page token - the last page has none', (t) => {
  t.is(LIST.next({ rows: [1n, 2n], hasMore: false }, idOf), '');
  t.is(LIST.next({ rows: [], hasMore: false }, idOf), '');
});

test('Page token - one of another list is refused', (t) => {
  for (const list of LISTS) {
    const pageToken = list.next(pageAfter(7n), idOf);
    for (const other of LISTS.filter((one) => one !== list)) {
      const error = t.throws(() => other.toPageRequest({ pageToken }), { instanceOf: ApiError });
      t.is(error.code, 'INVALID_ARGUMENT');
    }
  }
});

test('Page token - a made-up, cut, padded or changed one is refused, naming pageToken', (t) => {
  const good = LIST.next(pageAfter(7n), idOf);
  const bad = [
    '7',
    'x',
    good.slice(1),
    good.slice(0, -1),
    `${good}A`,
    `${good}=`,
    ` ${good}`,
    good.repeat(2),
    '\0',
    '💥',
  ];
  for (const pageToken of bad) {
    const error = t.throws(() => LIST.toPageRequest({ pageToken }), { instanceOf: ApiError }, pageToken);
    t.is(error.code, 'INVALID_ARGUMENT');
    t.deepEqual(
      error.violations.map(({ path, name }) => [path, name]),
      [['pageToken', 'pageToken']],
    );
  }
});

test('Page token - any text is a valid token or is refused', (t) => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'binary' }), (pageToken) => {
      try {
        assert.equal(LIST.next(pageAfter(LIST.toPageRequest({ pageToken }).after), idOf), pageToken);
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
