import anyTest, { type TestFn } from 'ava';
import { AdminServiceService as Admin, Plan } from '../../../gen/petstore/admin/v1/admin.ts';
import { generateKey } from '../../../src/access/keys/format.ts';
import { withinOneDay } from '../../support/limit-windows.ts';
import { connectOperator, type Operator } from '../../support/operator.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { until } from '../../support/until.ts';

const test = anyTest as TestFn<TestStack & { operator: Operator }>;

test.before(async (t) => {
  const stack = await startTestStack();
  t.context = { ...stack, operator: await connectOperator(stack) };
});
test.after.always(async ({ context }) => {
  context.operator.close();
  await context.close();
});

test('keys - a revoked key is refused from the next request, other keys of the account are not', async (t) => {
  const { rest, operator } = t.context;
  const { id } = await operator.account(Plan.PLAN_PRO);
  const [first, second] = [await operator.key(id), await operator.key(id)];
  t.is((await rest.withKey(first.key).get('/pets')).status, 200);
  const revoked = await operator.call(Admin.revokeKey, { keyId: first.id });
  t.truthy(revoked.revokeTime);
  const { status, body, headers } = await rest.withKey(first.key).get('/pets');
  t.is(status, 401);
  t.is(body.code, 'API_KEY_INVALID');
  t.is(headers.get('www-authenticate'), 'Bearer');
  t.is((await rest.withKey(second.key).get('/pets')).status, 200);
  const again = await operator.call(Admin.revokeKey, { keyId: first.id });
  t.deepEqual(again.revokeTime, revoked.revokeTime); // a second revocation changes nothing
});

test('keys - the keys of a suspended account get a 401 with the reason, until it is resumed', async (t) => {
  const { rest, operator } = t.context;
  const { id: accountId } = await operator.account(Plan.PLAN_FREE);
  const caller = rest.withKey((await operator.key(accountId)).key);
  t.is((await caller.get('/pets')).status, 200);
  t.true((await operator.call(Admin.suspendAccount, { accountId })).suspended);
  const { status, body } = await caller.get('/pets');
  t.is(status, 401);
  t.deepEqual(body, { code: 'API_KEY_INVALID', message: 'the API key is not valid: its account is suspended', status });
  t.regex((await rest.withKey(generateKey()).get('/pets')).body.message, /it is unknown, revoked or expired$/);
  t.false((await operator.call(Admin.resumeAccount, { accountId })).suspended);
  t.is((await caller.get('/pets')).status, 200);
});

test('keys - a change of plan or of agreed limits takes effect with the next request', async (t) => {
  const { rest, operator } = t.context;
  const { id: accountId } = await operator.account({ perMinute: 1_000, perDay: 7 });
  const caller = rest.withKey((await operator.key(accountId)).key);
  const limit = async () => Number((await caller.get('/pets')).headers.get('x-ratelimit-limit'));
  t.is(await limit(), 7);
  await operator.call(Admin.updateAccount, { accountId, perDay: 9 });
  t.is(await limit(), 9);
  await operator.call(Admin.updateAccount, { accountId, plan: Plan.PLAN_FREE });
  t.is(await limit(), 60);
  const error = await t.throwsAsync(operator.call(Admin.updateAccount, { accountId, plan: Plan.PLAN_ENTERPRISE }));
  t.regex(error.message, /perMinute: is needed.*perDay: is needed/); // the change of plan has removed the agreed limits
});

test('keys - a key is refused once it has expired', async (t) => {
  const { rest, operator } = t.context;
  const { id } = await operator.account(Plan.PLAN_PRO);
  const expiresAtMs = Date.now() + 2_000; // long enough for one request on a busy machine
  const caller = rest.withKey((await operator.key(id, expiresAtMs)).key);
  t.is((await caller.get('/pets')).status, 200);
  await until(() => Date.now() >= expiresAtMs, 'the expiry');
  t.is((await caller.get('/pets')).body.code, 'API_KEY_INVALID');
});

test('keys - mistyped and unknown keys are 401 API_KEY_INVALID', async (t) => {
  for (const key of [generateKey(), `${generateKey().slice(0, -1)}!`, 'pst_short', generateKey('pso')]) {
    const { status, body } = await t.context.rest.withKey(key).get('/pets');
    t.is(status, 401);
    t.is(body.code, 'API_KEY_INVALID');
  }
});

test('keys - listing shows the first 12 characters and never the key', async (t) => {
  const { operator } = t.context;
  const { id: accountId } = await operator.account(Plan.PLAN_PRO);
  const { key } = await operator.key(accountId);
  const { keys } = await operator.call(Admin.listKeys, { accountId, pageToken: '' });
  t.is(keys.length, 1);
  t.is(keys[0]?.prefix, key.slice(0, 12));
  t.false(JSON.stringify(keys, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes(key));
});

test('usage - requests and refusals are counted per account and day', async (t) => {
  await withinOneDay(20_000);
  const { rest, operator } = t.context;
  const { id } = await operator.account({ perMinute: 1_000, perDay: 3 });
  t.deepEqual(await operator.usage(id), []);
  const caller = rest.withKey((await operator.key(id)).key);
  for (let i = 0; i < 5; i += 1) await caller.get('/pets');
  const today = new Date().toISOString().slice(0, 10);
  t.deepEqual(await operator.usage(id), [{ day: today, requests: 3n, refused: 2n }]);
});
