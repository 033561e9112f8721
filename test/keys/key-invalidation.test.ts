/** A change of a key reaches every server at once, over Redis; without Redis no call fails or waits. */

import type { TestFn } from 'ava';
import { type ApiKeyCache, createApiKeyCache } from '../../src/keys/api-key-cache.ts';
import { generateKey } from '../../src/keys/format.ts';
import { createKeyInvalidation, type KeyInvalidation } from '../../src/keys/key-invalidation.ts';
import type { Ban } from '../../src/limits/limiter.ts';
import { type Account, type ApiKey, toAccountId, toKeyId, toKeyId as toStoredKeyId } from '../../src/model.ts';
import { testUnless } from '../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess, startRedisCluster, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

interface Server {
  readonly cache: ApiKeyCache;
  readonly invalidation: KeyInvalidation;
  /** How many changes it has received. */
  readonly received: () => number;
  readonly unbanned: Ban[];
}

interface Context {
  readonly opened: (KeyInvalidation | { close: () => Promise<void> })[];
}

const test: TestFn<Context> = testUnless(MISSING_REDIS_SERVER);

test.beforeEach((t) => {
  t.context = { opened: [] };
});
test.afterEach.always(async (t) => {
  for (const opened of t.context.opened.reverse()) await opened.close();
});

const QUOTA = { perMinute: 1, perDay: 1 };
const PLANS = { free: QUOTA, pro: QUOTA, business: QUOTA };
const SECRET = generateKey();

/** The database of the servers, with one key. */
function oneKey() {
  const id = toAccountId(1n);
  const account: Account = { id, name: 'A', plan: 'free', agreed: undefined, isSuspended: false, createdAtMs: 0 };
  const times = { createdAtMs: 0, expiresAtMs: undefined, revokedAtMs: undefined };
  const key: ApiKey = { id: toStoredKeyId(1n), accountId: id, prefix: '', label: undefined, ...times };
  const stored = { key, account };
  const accounts = { findKey: async () => ({ ...stored }) };
  const revoke = () => Object.assign(stored, { key: { ...key, revokedAtMs: 1 } });
  return { accounts, revoke };
}

/** A server whose clock stands still: its entries are fresh until it receives a change. */
function serve(opened: Context['opened'], redis: TestRedis, accounts: ReturnType<typeof oneKey>['accounts']): Server {
  const cache = createApiKeyCache(accounts, PLANS, { nowMs: () => 0, monotonicMs: () => 0 });
  let received = 0;
  const unbanned: Ban[] = [];
  const onChange = () => {
    received += 1;
    cache.invalidate();
  };
  const invalidation = createKeyInvalidation(redis.config, onChange, (ended) => unbanned.push(ended));
  opened.push(invalidation);
  return { cache, invalidation, received: () => received, unbanned };
}

async function isKnown({ cache }: Server): Promise<boolean> {
  return (await cache.identify(SECRET, async () => undefined)) !== undefined;
}

for (const [name, start] of [
  ['Redis', () => RedisProcess.start()],
  ['Redis cluster', startRedisCluster],
] as const) {
  test(`${name} - a key that one server revokes is invalid on another as soon as the message arrives`, async (t) => {
    const redis = await start();
    t.context.opened.push({ close: () => redis.stop() });
    const { accounts, revoke } = oneKey();
    const [one, other] = [serve(t.context.opened, redis, accounts), serve(t.context.opened, redis, accounts)];
    await until(() => one.received() > 0 && other.received() > 0, 'both connections');
    t.true((await isKnown(one)) && (await isKnown(other)));
    revoke();
    t.true(await isKnown(other), 'it is still in the cache');
    one.invalidation.publish();
    await until(async () => !(await isKnown(other)) && !(await isKnown(one)), 'the change');
    t.is(other.received(), 2, 'the new connection, and the change');
  });
}

test('Redis unavailable - no call fails, missed changes take effect afterwards, and new ones arrive', async (t) => {
  const redis = await RedisProcess.start();
  t.context.opened.push({ close: () => redis.stop() });
  const { accounts, revoke } = oneKey();
  const [one, other] = [serve(t.context.opened, redis, accounts), serve(t.context.opened, redis, accounts)];
  await until(() => one.received() > 0 && other.received() > 0, 'both connections');
  await redis.kill();
  t.true(await isKnown(other));
  revoke();
  t.notThrows(() => one.invalidation.publish());
  t.true(await isKnown(other));
  await redis.startAgain();
  await until(async () => !(await isKnown(other)), 'the new connection');
  await until(() => one.received() > 1 && other.received() > 1, 'both connections');
  const before = other.received();
  one.invalidation.publish();
  await until(() => other.received() > before, 'the change');
});

test('Redis - the end of a ban reaches every server, and affects no cache', async (t) => {
  const redis = await RedisProcess.start();
  t.context.opened.push({ close: () => redis.stop() });
  const { accounts } = oneKey();
  const [one, other] = [serve(t.context.opened, redis, accounts), serve(t.context.opened, redis, accounts)];
  await until(() => one.received() > 0 && other.received() > 0, 'both connections');
  const ended = { keyId: toKeyId(3n), untilMs: Date.UTC(2026, 6, 1) };
  one.invalidation.publishUnban(ended);
  await until(() => one.unbanned.length > 0 && other.unbanned.length > 0, 'the end of the ban');
  t.deepEqual([one.unbanned, other.unbanned], [[ended], [ended]]);
  t.deepEqual([one.received(), other.received()], [1, 1]);
});

test('Redis - an unknown message counts as a change', async (t) => {
  const redis = await RedisProcess.start();
  t.context.opened.push({ close: () => redis.stop() });
  const { received, unbanned } = serve(t.context.opened, redis, oneKey().accounts);
  await until(() => received() === 1, 'the connection');
  for (const [sent, message] of ['', 'other:1', 'unban:x:1'].entries()) {
    await redis.command('PUBLISH', 'petstore:keys', message);
    await until(() => received() === 2 + sent, message);
  }
  t.deepEqual(unbanned, []);
});
