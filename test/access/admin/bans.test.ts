/** Bans, remaining requests and last uses, as the operator sees them, on servers that share Redis. */
import { status as Status } from '@grpc/grpc-js';
import { AdminServiceService as Admin } from '../../../gen/apiplatform/admin/v1/admin.ts';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import type { GrpcCaller } from '../../support/calls/grpc-caller.ts';
import { Operator } from '../../support/calls/operator.ts';
import { temporaryFolder } from '../../support/scope.ts';
import { startServerProcess } from '../../support/service/process.ts';
import { sharedMissing, startShared } from '../../support/service/shared.ts';
import { sharing, type TestOf } from '../../support/service/sharing.ts';
import { until, withinOneDay } from '../../support/until.ts';

const REFUSALS = 5;
const OPERATOR_KEY = 'an-operator-key-of-a-test';
const SETTINGS = { BAN_REFUSALS: `${REFUSALS}`, BAN_GRACE_SECONDS: '0', OPERATOR_KEY };
const PER_DAY = 3;
const PAGE = { pageToken: '' };

// Serial: one test pauses the shared Redis.
const anyTest = sharing(sharedMissing, async (t) => {
  const { redis, ...shared } = await startShared(t);
  const settings = { ...SETTINGS, ...(await shared.settings()) };
  const folder = temporaryFolder(t);
  const start = async () => (await startServerProcess(t, folder, settings)).grpc;
  t.teardown(() => redis.resume());
  /** The server that the key is used at, and another one, which the operator asks. */
  return { redis, used: await start(), admin: new Operator((await start()).client, OPERATOR_KEY) };
});
const { serial: test, beforeEach } = anyTest;
beforeEach(() => withinOneDay(60_000)); // tests use up the limit of the day, because a minute may end meanwhile

/** Makes calls with a key and returns their error codes, or `OK` for success. */
async function call(server: GrpcCaller, key: string, times: number): Promise<(string | undefined)[]> {
  const caller = server.withKey(key);
  const codes: (string | undefined)[] = [];
  for (let i = 0; i < times; i += 1) {
    const failed = await caller.failure(Categories.listCategories, PAGE).catch(() => ({ reason: 'OK' }));
    codes.push(failed.reason);
  }
  return codes;
}

/** Creates a key of a new account and uses it until it is banned. */
async function bannedKey(t: TestOf<typeof anyTest>) {
  const { admin, used } = t.context;
  const { id: accountId } = await admin.account({ perMinute: 1_000, perDay: PER_DAY });
  const { id: keyId, key } = await admin.key(accountId);
  t.is((await call(used, key, PER_DAY + REFUSALS + 1)).at(-1), 'API_KEY_BANNED');
  return { ...t.context, accountId, keyId, key };
}

test('Unban - the key works at once on all servers, and its refusals count from zero', async (t) => {
  const { admin, used, keyId, accountId, key } = await bannedKey(t);
  t.deepEqual(await call(admin, key, 1), ['API_KEY_BANNED']);
  t.is((await admin.call(Admin.unbanKey, { keyId })).apiKey?.id, keyId);
  t.deepEqual(await call(used, key, REFUSALS - 2), Array(REFUSALS - 2).fill('RATE_LIMITED'));
  t.deepEqual(await call(admin, key, 1), ['RATE_LIMITED']);
  // A restart restores what is stored.
  t.deepEqual((await admin.call(Admin.listBans, { accountId, ...PAGE })).bans, []);
  await admin.call(Admin.updateAccount, { accountId, perDay: 100 });
  t.deepEqual(await call(admin, key, 1), ['OK']);
  t.is((await admin.call(Admin.unbanKey, { keyId })).ended, undefined);
});

test('Redis unavailable - the standing is local and says so; a ban cannot be ended, and stays', async (t) => {
  const { admin, used, redis, accountId, keyId, key } = await bannedKey(t);
  await call(admin, key, 1);
  const standing = () => admin.call(Admin.getStanding, { accountId });
  redis.pause();
  t.like(await standing(), { day: { used: 3n }, local: true });
  t.like(await admin.failure(Admin.unbanKey, { keyId }), { code: Status.UNAVAILABLE, reason: 'BAN_NOT_ENDED' });
  t.like(await admin.call(Admin.listBans, { accountId, ...PAGE }), { bans: { length: 1 } }, 'a restart restores it');
  t.deepEqual(await call(admin, key, 1), ['API_KEY_BANNED']);
  redis.resume();
  await until(async () => !(await standing()).local, 'Redis');
  await admin.call(Admin.unbanKey, { keyId });
  t.deepEqual(await call(used, key, 1), ['RATE_LIMITED']);
});
