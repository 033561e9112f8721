import { readFile } from 'node:fs/promises';
import { Client, type Metadata, type ServiceError, status as Status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { AdminServiceService as Admin, ListAccountsRequest } from '../../../gen/petstore/admin/v1/admin.ts';
import { generateKey } from '../../../src/access/keys/format.ts';
import { bearer, detailsOf, insecure, unary } from '../../support/grpc.ts';
import { connectOperator, type Operator } from '../../support/operator.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const OPERATOR_KEY = 'an-operator-key-of-a-test';

const test = anyTest as TestFn<TestStack & { operator: Operator; clients: Record<'private' | 'public', Client> }>;

test.before(async (t) => {
  const stack = await startTestStack();
  const clients = {
    private: new Client(stack.grpcAddress, insecure),
    public: new Client(stack.publicAddress, insecure),
  };
  t.context = { ...stack, operator: await connectOperator(stack), clients };
});
test.after.always(async ({ context }) => {
  for (const client of Object.values(context.clients)) client.close();
  context.operator.close();
  await context.close();
});

function list(client: Client, metadata: Metadata) {
  return unary(client, Admin.listAccounts, { pageToken: '' }, metadata);
}

test("admin - refuses every caller without the operator's key", async (t) => {
  for (const key of [undefined, t.context.key, generateKey('pso'), 'x']) {
    const error = await t.throwsAsync<ServiceError>(list(t.context.clients.private, bearer(key)));
    t.is(error.code, Status.UNAUTHENTICATED);
    t.is(detailsOf(error).errorInfo?.reason, 'OPERATOR_KEY_INVALID');
  }
});

test("admin - the operator's key is refused as an API key", async (t) => {
  const key = (await readFile(`${t.context.config.dataDir}/operator.key`, 'utf8')).trim();
  t.is((await t.context.rest.withKey(key).get('/pets')).status, 401);
});

test('admin - cannot be reached through Envoy by REST, gRPC or gRPC-Web', async (t) => {
  const { rest, clients, config } = t.context;
  const key = (await readFile(`${config.dataDir}/operator.key`, 'utf8')).trim();
  const native = await t.throwsAsync<ServiceError>(list(clients.public, bearer(key)));
  t.is(native.code, Status.UNIMPLEMENTED);

  const path = '/petstore.admin.v1.AdminService/ListAccounts';
  const json = await rest.post(path, {});
  t.is(json.status, 404);
  t.is(json.body.code, 'ROUTE_NOT_FOUND');

  const message = Buffer.from(ListAccountsRequest.encode({ pageToken: '' }).finish());
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
  for (const type of ['application/grpc-web+proto', 'application/grpc-web-text']) {
    const raw = type.endsWith('text') ? frame.toString('base64') : frame;
    const headers = { 'content-type': type, authorization: `Bearer ${key}` };
    const web = await rest.withKey(undefined).send('POST', path, { raw, headers });
    t.is(web.status, 404, type); // which gRPC-Web clients read as UNIMPLEMENTED
    t.is(web.text, '');
  }
});

test('admin - an account has a trimmed name and shows its effective limits', async (t) => {
  const account = await t.context.operator.call(Admin.createAccount, { name: '  Acme  ', plan: 2 });
  t.like(account, { name: 'Acme', plan: 2, perMinute: 300, perDay: 10_000, suspended: false });
  t.deepEqual(await t.context.operator.call(Admin.getAccount, { accountId: account.id }), account);
});

test('admin - bad input is refused, and the error names every field', async (t) => {
  const { operator } = t.context;
  const bad = [
    [Admin.createAccount, { name: ' ', plan: 0 }, /name: .*plan: /],
    [Admin.createAccount, { name: 'x', plan: 4 }, /perMinute: is needed.*perDay: is needed/],
    [Admin.createAccount, { name: 'x', plan: 1, perMinute: 5 }, /perMinute: is for enterprise accounts/],
    [Admin.createAccount, { name: 'x', plan: 4, perMinute: 0, perDay: -1 }, /perMinute: .*perDay: /],
  ] as const;
  for (const [method, request, message] of bad) {
    const error = await t.throwsAsync<ServiceError>(operator.call(method, request as never));
    t.is(error.code, Status.INVALID_ARGUMENT);
    t.regex(error.message, message);
  }
  const missing = await t.throwsAsync<ServiceError>(operator.call(Admin.getAccount, { accountId: 999n }));
  t.is(detailsOf(missing).errorInfo?.reason, 'ACCOUNT_NOT_FOUND');
  const noKey = await t.throwsAsync<ServiceError>(operator.call(Admin.revokeKey, { keyId: 999n }));
  t.is(detailsOf(noKey).errorInfo?.reason, 'API_KEY_NOT_FOUND');
  const past = { seconds: 1n, nanos: 0 };
  const expired = await t.throwsAsync<ServiceError>(
    operator.call(Admin.createKey, { accountId: 1n, expireTime: past }),
  );
  t.is(expired.code, Status.INVALID_ARGUMENT);
});

test('admin - accounts are listed page by page, the demo account first, on the Business plan', async (t) => {
  const { operator } = t.context;
  for (let i = 0; i < 3; i += 1) await operator.account(1);
  const seen: bigint[] = [];
  let pageToken = '';
  do {
    const page = await operator.call(Admin.listAccounts, { limit: 2, pageToken });
    seen.push(...page.accounts.map(({ id }) => id));
    pageToken = page.nextPageToken;
    if (seen.length === 2) t.like(page.accounts[0], { name: 'Demo', plan: 3, perMinute: 1_000_000 });
  } while (pageToken !== '');
  t.deepEqual(seen, [...new Set(seen)].sort());
  t.true(seen.length >= 4);
});

test('admin - OPERATOR_KEY replaces the key in the file', async (t) => {
  const stack = await startTestStack({ OPERATOR_KEY });
  t.teardown(() => stack.close());
  const client = new Client(stack.grpcAddress, insecure);
  t.teardown(() => client.close());
  t.is((await list(client, bearer(OPERATOR_KEY))).message.accounts[0]?.name, 'Demo');
});
