/** What a key's permission allows, over every protocol; and what a rotation makes of a key. */
import { status as Status } from '@grpc/grpc-js';
import type { ExecutionContext } from 'ava';
import { AdminServiceService as Admin, Permission, Plan } from '../../gen/apiplatform/admin/v1/admin.ts';
import { call } from '../support/calls/connect-client.ts';
import { exchangeAlone, rawGrpc, targetOf } from '../support/calls/http2.ts';
import { isError } from '../support/contract/errors.ts';
import { fill, LISTS, MAKERS, PUBLIC, requestsTo, SERVICES, sibling } from '../support/contract/resources.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';

const test = stackTest();

const [PERMISSION_DENIED, UNKNOWN_METHOD] = ['PERMISSION_DENIED', `/${SERVICES[0]}/Nothing`];
/** The paths of a list, and of a POST that creates what is in no other resource. */
const LIST = LISTS.find(({ resource }) => resource === '')?.template ?? '';
const { template: CREATE = '', path: METHOD = '' } = MAKERS.find(({ resource }) => resource === '') ?? {};
const SAYS = /permission "read", and this request takes "write"/;

async function keysOf({ operator }: TestStack, perDay = 1_000_000) {
  const { id: accountId } = await operator.account({ perMinute: 1_000_000, perDay });
  const described = { accountId, permission: Permission.PERMISSION_READ, expireTime: undefined };
  const { key: read } = await operator.call(Admin.createKey, described);
  return { read, write: (await operator.key(accountId)).key };
}

test('Operator - a plan or a permission that is none is a 400, and no default stands for it', async (t) => {
  const { operator } = t.context;
  const { id: accountId } = await operator.account(Plan.PLAN_PRO);
  for (const none of [0, 99]) {
    const permission = none as Permission;
    const failures = [
      await operator.failure(Admin.createAccount, { name: 'Test', plan: none as Plan }),
      await operator.failure(Admin.updateAccount, { accountId, plan: none as Plan }),
      await operator.failure(Admin.createKey, { accountId, permission, expireTime: undefined }),
    ];
    for (const { reason } of failures) t.is(reason, 'INVALID_ARGUMENT', `${none}`);
  }
});

test('Permissions - over REST a read key gets what changes nothing, and a 403 for all else', async (t) => {
  const { read: key, write } = await keysOf(t.context);
  const [rest, reader] = [t.context.rest.withKey(write), t.context.rest.withKey(key)];
  for (const { operation, method, path, json, ids } of await requestsTo(rest)) {
    const response = await reader.send(method, path, { json });
    if (operation.isRead) t.is(response.status, 200, path);
    else isError(t, response, 403, PERMISSION_DENIED, SAYS);
    const read = sibling(operation, 'GET');
    if (read !== undefined) t.is((await rest.get(fill(read.template, ids))).status, 200, 'it is still there');
    if (operation.isRead) t.is((await reader.send('HEAD', path)).status, 200, path);
  }
  for (const [method, path, status] of [
    ['GET', '/nope', 404],
    ['POST', '/nope', 403],
    ['PUT', LIST, 403],
    ['PROPFIND', LIST, 403],
  ] as const) {
    const authorization = `Bearer ${key}`; // the description has no such operations
    const response = await fetch(`${rest.url}${path}`, { method, headers: { authorization } });
    t.is(response.status, status, `${method} ${path}`);
  }
});

test('Permissions - it is the same over gRPC, gRPC-Web and Connect, on both ports', async (t) => {
  const { grpcAddress, publicAddress, rest } = t.context;
  const { read: key } = await keysOf(t.context);
  const targets = [grpcAddress, publicAddress].map((address) => targetOf(address, '127.0.0.1'));
  const unary = PUBLIC.filter(({ isStream }) => !isStream);
  for (const { path, isRead } of [...unary, { path: UNKNOWN_METHOD, isRead: false }]) {
    for (const target of targets) {
      const { reason = '', message } = await rawGrpc(target, { path, key, body: Buffer.alloc(5) });
      t.is(reason === PERMISSION_DENIED, !isRead, `${path}: ${reason}`);
      if (!isRead) t.regex(message, SAYS);
    }
    for (const type of ['application/grpc-web+proto', 'application/grpc-web-text']) {
      const headers = { 'content-type': type, authorization: `Bearer ${key}` };
      const response = await fetch(`${rest.url}${path}`, { method: 'POST', headers, body: 'AAAAAAA=' });
      const status = response.headers.get('grpc-status');
      t.is(status === String(Status.PERMISSION_DENIED), !isRead, `${type} ${path}: ${status}`);
    }
    const { status, body } = await call({ rest, key }, path, Buffer.of());
    t.is(status === 403, !isRead, `Connect ${path}: ${status}`);
    if (!isRead) t.is(JSON.parse(body.toString()).code, 'permission_denied');
  }
});

test('Permissions - a 403 counts like any request, comes after 401 and 429, and before 413 and the body', async (t) => {
  const { rest, publicAddress, grpcAddress } = t.context;
  const perDay = 9;
  const { read: key } = await keysOf(t.context, perDay);
  const reader = rest.withKey(key);
  const left = (headers: Headers) => Number(headers.get('x-ratelimit-remaining'));
  // The first one of a key that Envoy does not know, and then of one that it does.
  for (const used of [1, 2]) {
    const response = await reader.post(CREATE, {});
    isError(t, response, 403, PERMISSION_DENIED);
    t.is(left(response.headers), perDay - used);
  }
  t.is((await reader.send('POST', CREATE, { raw: 'x'.repeat(70_000) })).status, 403);
  const unfinished = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const target = targetOf(publicAddress, '127.0.0.1');
  const path = { ':method': 'POST', ':path': CREATE };
  const { status } = await exchangeAlone(target, { ...path, ...unfinished, 'content-length': 100 }, { isEnded: false });
  t.is(status, 403, 'its body never comes');
  for (const address of [publicAddress, grpcAddress]) {
    const call = { path: METHOD, key, isEnded: false };
    t.is((await rawGrpc(targetOf(address, '127.0.0.1'), call)).reason, PERMISSION_DENIED);
  }
  t.is(left((await reader.get(LIST)).headers), perDay - 7);
  t.is((await reader.get(LIST)).status, 200);
  isError(t, await reader.post(CREATE, {}), 403, PERMISSION_DENIED);
  isError(t, await reader.post(CREATE, {}), 429, 'RATE_LIMITED');
  isError(t, await rest.withKey(undefined).post(CREATE, {}), 401, 'API_KEY_MISSING');
});

async function works(t: ExecutionContext<TestStack>, key: string): Promise<boolean> {
  const { status, body } = await t.context.rest.withKey(key).get(LIST);
  if (status !== 200) t.is(body.code, 'API_KEY_INVALID');
  return status === 200;
}

test('Rotation - makes a key of the same account, label, permission, expiry; the old one ends later', async (t) => {
  const { operator } = t.context;
  const { id: accountId } = await operator.account(Plan.PLAN_FREE);
  const expireTime = { seconds: 4_000_000_000n, nanos: 0 };
  const described = { accountId, label: 'till', permission: Permission.PERMISSION_READ, expireTime };
  const first = await operator.call(Admin.createKey, described);
  const keyId = first.apiKey?.id ?? 0n;
  const beganAtMs = Date.now();
  const second = await operator.call(Admin.rotateKey, { keyId });
  t.like(second.apiKey, { ...described, replaces: keyId, replacedBy: undefined });
  t.like(second.replaced, { ...described, id: keyId, expireTime: second.replaced?.expireTime, replaces: undefined });
  t.is(second.replaced?.replacedBy, second.apiKey?.id);
  const endsInS = Number(second.replaced?.expireTime?.seconds) - beganAtMs / 1_000;
  t.true(endsInS > 86_390 && endsInS < 86_460, `a day by default: ${endsInS} s`);
  t.not(second.key, first.key);
  t.deepEqual([await works(t, first.key), await works(t, second.key)], [true, true]);
  const third = await operator.call(Admin.rotateKey, { keyId: second.apiKey?.id ?? 0n, overlapSeconds: 0 });
  const all = [first, second, third].map(({ key }) => works(t, key));
  t.deepEqual(await Promise.all(all), [true, false, true], 'an overlap of 0 ends the old one at once');
  const { keys } = await operator.call(Admin.listKeys, { accountId, pageToken: '' });
  const [replaces, replacedBy] = [keys.map((key) => key.replaces), keys.map((key) => key.replacedBy)];
  t.deepEqual(replaces, [undefined, keyId, second.apiKey?.id]);
  t.deepEqual(replacedBy, [second.apiKey?.id, third.apiKey?.id, undefined]);
});

test('Rotation - an overlap prolongs no key; one that is revoked, expired or unknown has no successor', async (t) => {
  const { operator } = t.context;
  const { id: accountId } = await operator.account(Plan.PLAN_FREE);
  const soon = { seconds: BigInt(Math.floor(Date.now() / 1_000) + 3_600), nanos: 0 };
  const { apiKey } = await operator.call(Admin.createKey, { accountId, expireTime: soon });
  const keyId = apiKey?.id ?? 0n;
  t.deepEqual((await operator.call(Admin.rotateKey, { keyId })).replaced?.expireTime, soon);
  t.deepEqual((await operator.call(Admin.rotateKey, { keyId, overlapSeconds: 60 })).apiKey?.expireTime, soon);
  const again = await operator.call(Admin.rotateKey, { keyId });
  t.deepEqual(again.apiKey?.expireTime, soon, 'not the end of the overlap of an earlier rotation');
  await operator.call(Admin.rotateKey, { keyId, overlapSeconds: 0 });
  t.is((await operator.failure(Admin.rotateKey, { keyId })).reason, 'API_KEY_ENDED', 'it has expired');
  const { id: revoked } = await operator.key(accountId);
  await operator.call(Admin.revokeKey, { keyId: revoked });
  t.is((await operator.failure(Admin.rotateKey, { keyId: revoked })).reason, 'API_KEY_ENDED');
  t.is((await operator.failure(Admin.rotateKey, { keyId: 999_999n })).reason, 'API_KEY_NOT_FOUND');
  t.is((await operator.failure(Admin.rotateKey, { keyId, overlapSeconds: -1 })).reason, 'INVALID_ARGUMENT');
});
