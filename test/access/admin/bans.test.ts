/** Bans, remaining requests and last uses, as the operator sees them, on real servers of each kind of deployment. */
import { type ServiceError, status as Status } from '@grpc/grpc-js';
import type { ExecutionContext, TestFn } from 'ava';
import { AdminServiceService as Admin, type BannedKey, Window } from '../../../gen/petstore/admin/v1/admin.ts';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { detailsOf } from '../../support/grpc.ts';
import { withinOneDay } from '../../support/limit-windows.ts';
import { connectOperator, type Operator } from '../../support/operator.ts';
import { createDataDir, type ServerProcess, startServerProcess } from '../../support/process.ts';
import { testUnless } from '../../support/programs.ts';
import { type Shared, sharedMissing, startShared } from '../../support/shared.ts';
import { until } from '../../support/until.ts';

const REFUSALS = 5;
const BAN_SECONDS = 200;
const SETTINGS = { BAN_REFUSALS: `${REFUSALS}`, BAN_SECONDS: `${BAN_SECONDS}` };
const PER_DAY = 3;
/** Tests exhaust the limit of the day, because a minute may end during a test. */
const LIMITS = { perMinute: 1_000, perDay: PER_DAY };

interface Server extends ServerProcess {
  readonly settings: Readonly<Record<string, string>>;
  readonly operator: Operator;
}

interface Context {
  readonly closing: (() => unknown)[];
}

type Test = ExecutionContext<Context>;
type Start = (t: Test) => Promise<readonly [Server, Server]>;

let shared: Shared;
// Serial: each test starts its own servers, and one test pauses the shared Redis.
const { serial: test, before, after, beforeEach, afterEach } = testUnless<Context>(sharedMissing) as TestFn<Context>;
before(async () => {
  shared = await startShared();
});
after.always(() => shared?.close());
beforeEach(async (t) => {
  await withinOneDay(60_000);
  t.context = { closing: [] };
});
afterEach.always(async (t) => {
  for (const close of t.context.closing.reverse()) await close();
});

async function start(t: Test, dataDir: string, settings: Readonly<Record<string, string>>): Promise<Server> {
  const server = await startServerProcess(dataDir, { ...SETTINGS, ...settings });
  const operator = await connectOperator({ grpcAddress: server.address, config: { dataDir } });
  t.context.closing.push(async () => {
    operator.close();
    server.grpc.close();
    await server.end('SIGKILL');
  });
  return Object.assign(server, { operator, settings });
}

async function newDataDir(t: Test): Promise<string> {
  const { path, remove } = await createDataDir();
  t.context.closing.push(remove);
  return path;
}

/** Starts one server, which is both used and queried. */
const startOne: Start = async (t) => {
  const server = await start(t, await newDataDir(t), {});
  return [server, server];
};

const startTwo: Start = async (t) => {
  const [dataDir, settings] = [await newDataDir(t), await shared.settings()];
  return [await start(t, dataDir, settings), await start(t, dataDir, settings)];
};

/** Makes calls with a key and returns their error codes, or `OK` for success. */
async function call(server: Server, key: string, times: number): Promise<string[]> {
  const caller = server.grpc.withKey(key);
  const codes: string[] = [];
  for (let i = 0; i < times; i += 1) {
    const list = caller.call(Categories.listCategories, { pageToken: '' });
    const failed = (error: ServiceError) => detailsOf(error).errorInfo?.reason ?? String(error);
    codes.push(await list.then(() => 'OK', failed));
  }
  caller.close();
  return codes;
}

/** Creates a key of a new account and uses it until it is banned. */
async function bannedKey(server: Server) {
  const { id: accountId } = await server.operator.account(LIMITS);
  const { id: keyId, key } = await server.operator.key(accountId);
  const codes = await call(server, key, PER_DAY + REFUSALS + 1);
  if (codes.at(-1) !== 'API_KEY_BANNED') throw new Error(`the key is not banned: ${codes}`);
  return { accountId, keyId, key };
}

const firstPage = { pageToken: '' };

/** Waits until bans are stored, and returns them. */
function storedBans({ operator }: Server): Promise<BannedKey[]> {
  return until(async () => {
    const { bans } = await operator.call(Admin.listBans, firstPage);
    return bans.length > 0 && bans;
  }, 'the ban in the database');
}

const seconds = (time: { seconds: bigint } | undefined) => Number(time?.seconds);

for (const [name, startServers] of [
  ['SQLite, limits in memory', startOne],
  ['PostgreSQL, limits in Redis, queried at another server', startTwo],
] as const) {
  test(`Bans (${name}) - show the key, its account, the reason, the start and the end`, async (t) => {
    const [used, queried] = await startServers(t);
    t.deepEqual((await queried.operator.call(Admin.listBans, firstPage)).bans, []);
    const { accountId, keyId, key } = await bannedKey(used);
    const bans = await storedBans(queried);
    const [{ ban, ...who } = { ban: undefined }] = bans;
    t.deepEqual(who, { prefix: key.slice(0, 12), label: undefined, accountId, accountName: 'Test' });
    t.like(ban, { keyId, refusals: REFUSALS, window: Window.WINDOW_DAY });
    t.is(seconds(ban?.endTime) - seconds(ban?.startTime), BAN_SECONDS);
    t.true(Math.abs(seconds(ban?.startTime) - Date.now() / 1_000) < 60);
    t.deepEqual((await queried.operator.call(Admin.listBans, { accountId, ...firstPage })).bans.length, 1);
    const { id: other } = await queried.operator.account(LIMITS);
    t.deepEqual((await queried.operator.call(Admin.listBans, { accountId: other, ...firstPage })).bans, []);
    const { keys } = await queried.operator.call(Admin.listKeys, { accountId, ...firstPage });
    t.deepEqual(keys[0]?.ban, ban);
  });

  test(`Unban (${name}) - the key works at once on all servers, and its refusals count from zero`, async (t) => {
    const [used, queried] = await startServers(t);
    const { keyId, accountId, key } = await bannedKey(used);
    t.deepEqual(await call(queried, key, 1), ['API_KEY_BANNED']);
    await queried.operator.call(Admin.unbanKey, { keyId });
    const [before, last] = [Array(REFUSALS - 2).fill('RATE_LIMITED'), 'RATE_LIMITED'];
    t.deepEqual(await call(used, key, REFUSALS - 2), before);
    t.deepEqual(await call(queried, key, 1), [last]);
    t.deepEqual((await queried.operator.call(Admin.listBans, firstPage)).bans, []);
    // A change takes effect at once on the server that makes it.
    for (const server of [used, queried]) {
      await server.operator.call(Admin.updateAccount, { accountId, perDay: 100 });
      t.deepEqual(await call(server, key, 1), ['OK']);
    }
    const again = await queried.operator.call(Admin.unbanKey, { keyId });
    t.is(again.ended, undefined);
    t.is(again.apiKey?.id, keyId);
  });

  test(`Unban (${name}) - holds after a restart`, async (t) => {
    const [used, queried] = await startServers(t);
    const { keyId, key } = await bannedKey(used);
    await storedBans(queried);
    t.truthy((await queried.operator.call(Admin.unbanKey, { keyId })).ended);
    await used.end('SIGTERM');
    const again = await start(t, used.dataDir, used.settings);
    t.deepEqual(await call(again, key, 1), ['RATE_LIMITED']);
  });

  test(`Standing (${name}) - shows both windows and does not count as a request`, async (t) => {
    const [used, queried] = await startServers(t);
    const { id: accountId } = await used.operator.account(LIMITS);
    const { key } = await used.operator.key(accountId);
    const standing = () => queried.operator.call(Admin.getStanding, { accountId });
    const nowSeconds = Date.now() / 1_000;
    const unused = await standing();
    t.like(unused, { day: { limit: PER_DAY, used: 0n }, refusedToday: 0n, local: false, lastUseTime: undefined });
    t.like(unused.minute, { limit: 1_000, used: 0n });
    t.true(Math.abs(seconds(unused.minute?.resetTime) - 30 - nowSeconds) < 60);
    t.is(seconds(unused.minute?.resetTime) % 60, 0);
    t.is(seconds(unused.day?.resetTime) % 86_400, 0);
    await call(used, key, PER_DAY + 2);
    for (let i = 0; i < 3; i += 1) {
      t.like(await standing(), { day: { limit: PER_DAY, used: BigInt(PER_DAY) }, refusedToday: 2n, local: false });
    }
  });

  test(`Last use (${name}) - is shown for each key and its account, and includes refused requests`, async (t) => {
    const [used] = await startServers(t);
    const { id: accountId } = await used.operator.account(LIMITS);
    const [one, other] = [await used.operator.key(accountId), await used.operator.key(accountId)];
    const keys = async () => (await used.operator.call(Admin.listKeys, { accountId, ...firstPage })).keys;
    t.deepEqual(
      (await keys()).map(({ lastUseTime }) => lastUseTime),
      [undefined, undefined],
    );
    await call(used, other.key, PER_DAY + 1);
    const [unused, last] = await keys();
    t.deepEqual([unused?.id, unused?.lastUseTime], [one.id, undefined]);
    t.true(Math.abs(seconds(last?.lastUseTime) - Date.now() / 1_000) < 60);
    const standing = await used.operator.call(Admin.getStanding, { accountId });
    t.deepEqual(standing.lastUseTime, last?.lastUseTime);
  });
}

test('Last use - is visible on other servers once the server that saw it has stored it', async (t) => {
  const [used, queried] = await startTwo(t);
  const { id: accountId } = await used.operator.account(LIMITS);
  const { key } = await used.operator.key(accountId);
  await call(used, key, 1);
  await used.end('SIGTERM');
  const { keys } = await queried.operator.call(Admin.listKeys, { accountId, ...firstPage });
  t.truthy(keys[0]?.lastUseTime);
});

test('Redis unavailable - the standing is local and says so; a ban cannot be ended, and stays', async (t) => {
  const [used, queried] = await startTwo(t);
  const { accountId, keyId, key } = await bannedKey(used);
  shared.redis.pause();
  try {
    t.like(await used.operator.call(Admin.getStanding, { accountId }), { day: { used: 3n }, local: true });
    const error = await t.throwsAsync<ServiceError>(used.operator.call(Admin.unbanKey, { keyId }));
    t.is(error.code, Status.UNAVAILABLE);
    t.is(detailsOf(error).errorInfo?.reason, 'BAN_NOT_ENDED');
    t.deepEqual(await call(used, key, 1), ['API_KEY_BANNED']);
  } finally {
    shared.redis.resume();
  }
  await until(async () => !(await used.operator.call(Admin.getStanding, { accountId })).local, 'Redis');
  await queried.operator.call(Admin.unbanKey, { keyId });
  t.deepEqual(await call(used, key, 1), ['RATE_LIMITED']);
});

test('Missing - an unknown key is API_KEY_NOT_FOUND, an unknown account ACCOUNT_NOT_FOUND', async (t) => {
  const [{ operator }] = await startOne(t);
  const noKey = await t.throwsAsync<ServiceError>(operator.call(Admin.unbanKey, { keyId: 999n }));
  t.is(detailsOf(noKey).errorInfo?.reason, 'API_KEY_NOT_FOUND');
  const calls = [
    operator.call(Admin.listBans, { accountId: 999n, ...firstPage }),
    operator.call(Admin.getStanding, { accountId: 999n }),
  ];
  for (const pending of calls) {
    const error = await t.throwsAsync<ServiceError>(pending);
    t.is(detailsOf(error).errorInfo?.reason, 'ACCOUNT_NOT_FOUND');
  }
});

test('Bans - are listed page by page', async (t) => {
  const [server] = await startOne(t);
  const banned = [await bannedKey(server), await bannedKey(server), await bannedKey(server)];
  const { operator } = server;
  const first = await operator.call(Admin.listBans, { limit: 2, pageToken: '' });
  const second = await operator.call(Admin.listBans, { limit: 2, pageToken: first.nextPageToken });
  t.deepEqual(
    [...first.bans, ...second.bans].map(({ ban }) => ban?.keyId),
    banned.map(({ keyId }) => keyId),
  );
  t.is(second.nextPageToken, '');
});
