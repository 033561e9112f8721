/** Page tokens, and those of every list. Callers hold tokens, also across an upgrade. */
import { fromJson, toBinary } from '@bufbuild/protobuf';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { LISTS } from '../support/contract/resources.ts';
import { serverTest } from '../support/service/shared-stack.ts';

/** The first byte of a list's tokens. Never change one. The next free number is 8. */
const NUMBERS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(LISTS.map(({ path, pages }) => [path, pages])),
  '/apiplatform.admin.v1.AdminService/ListAccounts': 5,
  '/apiplatform.admin.v1.AdminService/ListKeys': 6,
  '/apiplatform.admin.v1.AdminService/ListBans': 7,
};

const lists = [...loadOperations().byPath.values()].filter(({ response }) => response.next?.parameter === 'pageToken');

const test = serverTest();

test('Page tokens - every list has a number here, of its own', (t) => {
  t.deepEqual(lists.map(({ path }) => path).sort(), Object.keys(NUMBERS).sort());
  t.is(new Set(Object.values(NUMBERS)).size, lists.length);
});

/** The token of the largest id. */
const tokenOf = (list: number) => Buffer.of(list, 0x7f, ...Array(7).fill(0xff)).toString('base64url');
/** What is no token, or one in another spelling. */
const malformed = (good: string) => ['7', 'x', '\0', '💥', good.slice(1), good.slice(0, -1), `${good}A`, `${good}=`];

test('Page tokens - a list takes those with its number, and no others', async (t) => {
  const { grpc, operator } = t.context;
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
