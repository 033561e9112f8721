/** The operator's service on the private port: who may call it, accounts, keys. */
import { status as Status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { AdminServiceService as Admin, Plan } from '../../../gen/petstore/admin/v1/admin.ts';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { generateKey } from '../../../src/access/keys/format.ts';
import { toTimestamp } from '../../../src/storage/model.ts';
import { Operator } from '../../support/operator.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';

const OPERATOR_KEY = 'an-operator-key-of-a-test';
const PAGE = { pageToken: '' };

const test = anyTest as TestFn<{ server: TestServer; admin: Operator }>;

test.before(async (t) => {
  const server = await startTestServer({ OPERATOR_KEY });
  t.context = { server, admin: new Operator(server.grpc.client, OPERATOR_KEY) };
});
test.after.always((t) => t.context.server.close());

test("admin - refuses every caller without the operator's key", async (t) => {
  const { grpc, key } = t.context.server;
  for (const wrong of [undefined, key, generateKey('pso'), 'x']) {
    const { code, reason } = await grpc.withKey(wrong).failure(Admin.listAccounts, PAGE);
    t.deepEqual([code, reason], [Status.UNAUTHENTICATED, 'OPERATOR_KEY_INVALID']);
  }
  const { reason } = await grpc.withKey(OPERATOR_KEY).failure(Categories.listCategories, PAGE);
  t.is(reason, 'API_KEY_INVALID', "the operator's key is no API key");
});

test('admin - bad input is refused, and the error names every field; names are trimmed', async (t) => {
  const { admin } = t.context;
  const asked = { name: '  Acme  ', plan: Plan.PLAN_ENTERPRISE, perMinute: 1, perDay: 1 };
  const { id: accountId, name } = await admin.call(Admin.createAccount, asked);
  t.is(name, 'Acme', 'trimmed');
  await admin.call(Admin.updateAccount, { accountId, plan: 1 });
  const past = { seconds: 1n, nanos: 0 };
  const bad = await Promise.all([
    admin.failure(Admin.createAccount, { name: ' ', plan: 0 }),
    admin.failure(Admin.createAccount, { name: 'x', plan: 4 }),
    admin.failure(Admin.createAccount, { name: 'x', plan: 1, perMinute: 5 }),
    admin.failure(Admin.createAccount, { name: 'x', plan: 4, perMinute: 0, perDay: -1 }),
    admin.failure(Admin.updateAccount, { accountId, plan: 4 }), // the change of plan has removed the agreed limits
    admin.failure(Admin.createKey, { accountId, expireTime: past }),
  ]);
  for (const [index, message] of [
    /name: .*plan: /,
    /perMinute: is needed.*perDay: is needed/,
    /perMinute: is for enterprise accounts/,
    /perMinute: .*perDay: /,
    /perMinute: is needed.*perDay: is needed/,
    /expireTime: /,
  ].entries()) {
    t.is(bad[index]?.code, Status.INVALID_ARGUMENT);
    t.regex(bad[index]?.message ?? '', message);
  }
});

test('admin - an unknown account is ACCOUNT_NOT_FOUND, an unknown key API_KEY_NOT_FOUND', async (t) => {
  const { admin } = t.context;
  const [accountId, keyId] = [999n, 999n];
  const missing = await Promise.all([
    admin.failure(Admin.getAccount, { accountId }),
    admin.failure(Admin.updateAccount, { accountId, plan: 1 }),
    admin.failure(Admin.createKey, { accountId, expireTime: undefined }),
    admin.failure(Admin.listKeys, { accountId, ...PAGE }),
    admin.failure(Admin.listBans, { accountId, ...PAGE }),
    admin.failure(Admin.getStanding, { accountId }),
    admin.failure(Admin.getUsage, { accountId }),
  ]);
  t.deepEqual(new Set(missing.map(({ reason }) => reason)), new Set(['ACCOUNT_NOT_FOUND']));
  for (const method of [Admin.revokeKey, Admin.unbanKey]) {
    const { reason } = await admin.failure<{ keyId: bigint }, unknown>(method, { keyId });
    t.is(reason, 'API_KEY_NOT_FOUND');
  }
});

test('admin - a key is listed by its first 12 characters alone, and refused once it has expired', async (t) => {
  const { admin, server } = t.context;
  const { id: accountId } = await admin.account(1);
  const expiresAtMs = Date.now() + 500;
  const { key } = await admin.key(accountId, expiresAtMs);
  const { keys } = await admin.call(Admin.listKeys, { accountId, ...PAGE });
  t.like(keys, [{ prefix: key.slice(0, 12), expireTime: toTimestamp(expiresAtMs) }]);
  t.false(JSON.stringify(keys, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes(key));
  const refusal = async () =>
    server.grpc
      .withKey(key)
      .call(Categories.listCategories, PAGE)
      .then(() => undefined, String);
  t.regex(await until(refusal, 'the expiry'), /unknown, revoked or expired/);
  t.true(Date.now() >= expiresAtMs);
});
