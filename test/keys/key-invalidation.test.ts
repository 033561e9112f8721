/** A change of a key reaches every server at once, over Redis; without Redis no call fails or waits. */

import type { TestFn } from 'ava';
import { type ApiKeyCache, createApiKeyCache, type KeyChange } from '../../src/keys/api-key-cache.ts';
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
  readonly received: KeyChange[];
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
  const received: KeyChange[] = [];
  const unbanned: Ban[] = [];
  const onChange = (change: KeyChange) => {
    received.push(change);
    cache.invalidate(change);
  };
  const invalidation = createKeyInvalidation(redis.config, onChange, (ended) => unbanned.push(ended));
  opened.push(invalidation);
  return { cache, invalidation, received, unbanned };
}

async function isKnown({ cache }: Server): Promise<boolean> {
  return (await cache.identify(SECRET)) !== undefined;
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
    await until(() => one.received.length > 0 && other.received.length > 0, 'both connections');
    t.true((await isKnown(one)) && (await isKnown(other)));
    revoke();
    t.true(await isKnown(other), 'it is still in the cache');
    one.invalidation.publish({ kind: 'key', id: 1n });
    await until(async () => !(await isKnown(other)) && !(await isKnown(one)), 'the change');
    t.deepEqual(other.received, [{ kind: 'any' }, { kind: 'key', id: 1n }]); // the new connection, and what has changed
  });
}

test('Redis unavailable - no call fails, missed changes take effect afterwards, and new ones arrive', async (t) => {
  const redis = await RedisProcess.start();
  t.context.opened.push({ close: () => redis.stop() });
  const { accounts, revoke } = oneKey();
  const [one, other] = [serve(t.context.opened, redis, accounts), serve(t.context.opened, redis, accounts)];
  await until(() => one.received.length > 0 && other.received.length > 0, 'both connections');
  await redis.kill();
  t.true(await isKnown(other));
  revoke();
  t.notThrows(() => one.invalidation.publish({ kind: 'key', id: 1n }));
  t.true(await isKnown(other));
  await redis.startAgain();
  await until(async () => !(await isKnown(other)), 'the new connection');
  await until(() => one.received.length > 1 && other.received.length > 1, 'both connections');
  const { length } = other.received;
  one.invalidation.publish({ kind: 'key', id: 1n });
  await until(() => other.received.length > length, 'the change');
});

test('Redis - the end of a ban reaches every server, and affects no cache', async (t) => {
  const redis = await RedisProcess.start();
  t.context.opened.push({ close: () => redis.stop() });
  const { accounts } = oneKey();
  const [one, other] = [serve(t.context.opened, redis, accounts), serve(t.context.opened, redis, accounts)];
  await until(() => one.received.length > 0 && other.received.length > 0, 'both connections');
  const ended = { keyId: toKeyId(3n), untilMs: Date.UTC(2026, 6, 1) };
  one.invalidation.publishUnban(ended);
  await until(() => one.unbanned.length > 0 && other.unbanned.length > 0, 'the end of the ban');
  t.deepEqual([one.unbanned, other.unbanned], [[ended], [ended]]);
  t.deepEqual([one.received.length, other.received.length], [1, 1]);
});

test('Redis - a message names an account; an unknown message invalidates everything', async (t) => {
  const redis = await RedisProcess.start();
  t.context.opened.push({ close: () => redis.stop() });
  const { invalidation, received } = serve(t.context.opened, redis, oneKey().accounts);
  await until(() => received.length === 1, 'the connection');
  invalidation.publish({ kind: 'account', id: 2n ** 63n - 1n });
  await until(() => received.length === 2, 'the account');
  for (const [sent, message] of ['', 'key:', 'key:x', 'account:-1', 'other:1', 'unban:x:1'].entries()) {
    await redis.command('PUBLISH', 'petstore:keys', message);
    await until(() => received.length === 3 + sent, message);
  }
  const any = { kind: 'any' } as const;
  t.deepEqual(received, [any, { kind: 'account', id: 2n ** 63n - 1n }, any, any, any, any, any, any]);
});
