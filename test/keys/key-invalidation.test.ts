/** A change of a key reaches every server at once, over Redis; without Redis no call fails or waits. */

import type { TestFn } from 'ava';
import { type ApiKeyCache, createApiKeyCache } from '../../src/keys/api-key-cache.ts';
import { generateKey } from '../../src/keys/format.ts';
import { createKeyInvalidation, type KeyInvalidation } from '../../src/keys/key-invalidation.ts';
import { type Account, type ApiKey, toAccountId, toKeyId } from '../../src/model.ts';
import { testUnless } from '../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess, startRedisCluster, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

interface Server {
  readonly cache: ApiKeyCache;
  readonly invalidation: KeyInvalidation;
  /** How many changes it has received, with one for each new connection. */
  readonly changes: () => number;
  /** Causes of the lines that it has logged. */
  readonly logged: string[];
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
  const key: ApiKey = { id: toKeyId(1n), accountId: id, prefix: '', label: undefined, ...times };
  const stored = { key, account };
  const accounts = { findKey: async () => ({ ...stored }) };
  const revoke = () => Object.assign(stored, { key: { ...key, revokedAtMs: 1 } });
  return { accounts, revoke };
}

/** A server whose clock stands still: its entries are fresh until it receives a change. */
function serve(
  opened: Context['opened'],
  redis: Pick<TestRedis, 'config'>,
  accounts: ReturnType<typeof oneKey>['accounts'],
): Server {
  const cache = createApiKeyCache(accounts, PLANS, { nowMs: () => 0, monotonicMs: () => 0 });
  const logged: string[] = [];
  let changes = 0;
  const invalidation = createKeyInvalidation({
    redis: redis.config,
    logger: { warn: ({ cause }: { cause: string }) => logged.push(cause) },
    onChange() {
      changes += 1;
      cache.invalidate();
    },
  });
  opened.push(invalidation);
  return { cache, invalidation, changes: () => changes, logged };
}

/** Waits until servers are connected: they then take anything to have changed. */
async function connected(...servers: Server[]): Promise<void> {
  await until(() => servers.every(({ changes }) => changes() > 0), 'the connections');
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
    await connected(one, other);
    t.true((await isKnown(one)) && (await isKnown(other)));
    revoke();
    t.true(await isKnown(other), 'it is still in the cache');
    one.invalidation.publish();
    await until(async () => !(await isKnown(other)) && !(await isKnown(one)), 'the change');
    t.is(other.changes(), 2); // the new connection, and the change
  });
}

test('Redis unavailable - no call fails, missed changes take effect afterwards, and new ones arrive', async (t) => {
  const redis = await RedisProcess.start();
  t.context.opened.push({ close: () => redis.stop() });
  const { accounts, revoke } = oneKey();
  const [one, other] = [serve(t.context.opened, redis, accounts), serve(t.context.opened, redis, accounts)];
  await connected(one, other);
  await redis.kill();
  t.true(await isKnown(other));
  revoke();
  t.notThrows(() => one.invalidation.publish());
  t.true(await isKnown(other));
  await redis.startAgain();
  await until(async () => !(await isKnown(other)), 'the new connection');
  await until(() => one.changes() > 1 && other.changes() > 1, 'both connections');
  const before = other.changes();
  one.invalidation.publish();
  await until(() => other.changes() > before, 'the change');
});

test('Redis - any message means that a key or an account may have changed', async (t) => {
  const redis = await RedisProcess.start();
  t.context.opened.push({ close: () => redis.stop() });
  const { changes } = serve(t.context.opened, redis, oneKey().accounts);
  await until(() => changes() === 1, 'the connection');
  for (const [sent, message] of ['', 'key:1', 'other:1', 'unban:x:1'].entries()) {
    await redis.command('PUBLISH', 'petstore:keys', message);
    await until(() => changes() >= 2 + sent, message);
  }
  t.is(changes(), 5);
});

test('Redis refuses the channel - is logged once, and changes arrive soon after it is allowed', async (t) => {
  const redis = await RedisProcess.start();
  t.context.opened.push({ close: () => redis.stop() });
  const user = ['ACL', 'SETUSER', 'petstore'];
  await redis.command(...user, 'on', '>secret', '~*', '+@all', 'resetchannels');
  const config = { urls: [`redis://petstore:secret@127.0.0.1:${redis.port}`], isCluster: false } as const;
  const server = serve(t.context.opened, { config }, oneKey().accounts);
  await until(() => server.logged.length > 0, 'the log line');
  await redis.command(...user, 'allchannels');
  await until(() => server.changes() === 1, 'the subscription');
  server.invalidation.publish();
  await until(() => server.changes() === 2, 'the change');
  t.is(server.logged.length, 1);
  t.regex(server.logged[0] ?? '', /NOPERM/);
});
