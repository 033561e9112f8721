/** The page tokens of every list. Callers hold tokens, also across an upgrade. */
import { fromJson, toBinary } from '@bufbuild/protobuf';
import anyTest, { type TestFn } from 'ava';
import { loadOperations } from '../../src/proto/operations.ts';
import { LISTS } from '../support/resources.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

/** The first byte of a list's tokens. Never change one. The next free number is 8. */
const NUMBERS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(LISTS.map(({ path, pages }) => [path, pages])),
  '/petstore.admin.v1.AdminService/ListAccounts': 5,
  '/petstore.admin.v1.AdminService/ListKeys': 6,
  '/petstore.admin.v1.AdminService/ListBans': 7,
};

const OPERATOR_KEY = 'an-operator-key-of-a-test';
const lists = [...loadOperations().byPath.values()].filter(({ response }) => response.next?.parameter === 'pageToken');

const test = anyTest as TestFn<TestServer>;

test.before(async (t) => {
  t.context = await startTestServer({ OPERATOR_KEY });
});
test.after.always((t) => t.context.close());

test('Page tokens - every list has a number here', (t) => {
  t.deepEqual(lists.map(({ path }) => path).sort(), Object.keys(NUMBERS).sort());
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
    const caller = path.startsWith('/petstore.admin.') ? operator : grpc;
    for (let list = 0; list <= Object.keys(NUMBERS).length + 1; list += 1) {
      if (list === NUMBERS[path]) await t.notThrowsAsync(caller.call(asking(list), undefined), path);
      else t.deepEqual((await caller.failure(asking(list), undefined)).fields, ['pageToken'], `${path} ${list}`);
    }
  }
});
