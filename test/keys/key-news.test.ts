/** News of a changed key reaches every server at once, over Redis; without Redis nobody fails or waits for it. */
import type { TestFn } from 'ava';
import { generateKey } from '../../src/keys/format.ts';
import { createKeyNews, type KeyNews } from '../../src/keys/key-news.ts';
import { type CachingKeyRing, createKeyRing } from '../../src/keys/key-ring.ts';
import type { Account, ApiKey } from '../../src/model.ts';
import { testUnless } from '../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess, startRedisCluster, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

interface Server {
  readonly ring: CachingKeyRing;
  readonly news: KeyNews;
  /** How often there was news, and what is like it. */
  readonly heard: { count: number };
}

interface Context {
  readonly opened: (KeyNews | { close: () => Promise<void> })[];
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

/** What the servers' database has: one key. */
function oneKey() {
  const account: Account = { id: 1n, name: 'A', plan: 'free', agreed: undefined, isSuspended: false, createdAtMs: 0 };
  const times = { createdAtMs: 0, expiresAtMs: undefined, revokedAtMs: undefined };
  const key: ApiKey = { id: 1n, accountId: 1n, prefix: '', label: undefined, ...times };
  const stored = { key, account };
  const accounts = { findKey: async () => ({ ...stored }) };
  const revoke = () => Object.assign(stored, { key: { ...key, revokedAtMs: 1 } });
  return { accounts, revoke };
}

/** A server on a clock that stands still: what is in its cache is believed until there is news. */
function serve(opened: Context['opened'], redis: TestRedis, accounts: ReturnType<typeof oneKey>['accounts']): Server {
  const ring = createKeyRing(accounts, PLANS, () => 0);
  const heard = { count: 0 };
  const news = createKeyNews(redis.config, () => {
    heard.count += 1;
    ring.forget();
  });
  opened.push(news);
  return { ring, news, heard };
}

async function isKnown({ ring }: Server): Promise<boolean> {
  return (await ring.identify(SECRET, async () => undefined)) !== undefined;
}

for (const [name, start] of [
  ['Redis', () => RedisProcess.start()],
  ['Redis cluster', startRedisCluster],
] as const) {
  test(`${name} - a key that one server revokes is not valid at another from the news on`, async (t) => {
    const redis = await start();
    t.context.opened.push({ close: () => redis.stop() });
    const { accounts, revoke } = oneKey();
    const [one, other] = [serve(t.context.opened, redis, accounts), serve(t.context.opened, redis, accounts)];
    await until(() => one.heard.count > 0 && other.heard.count > 0, 'both connections');
    t.true((await isKnown(one)) && (await isKnown(other)));
    revoke();
    t.true(await isKnown(other), 'it is still in the cache');
    one.news.publish();
    await until(async () => !(await isKnown(other)) && !(await isKnown(one)), 'the news');
  });
}

test('Redis away - nobody fails; what was missed is made up for, and news comes again', async (t) => {
  const redis = await RedisProcess.start();
  t.context.opened.push({ close: () => redis.stop() });
  const { accounts, revoke } = oneKey();
  const [one, other] = [serve(t.context.opened, redis, accounts), serve(t.context.opened, redis, accounts)];
  await until(() => one.heard.count > 0 && other.heard.count > 0, 'both connections');
  await redis.kill();
  t.true(await isKnown(other));
  revoke();
  t.notThrows(() => one.news.publish());
  t.true(await isKnown(other));
  await redis.startAgain();
  await until(async () => !(await isKnown(other)), 'the new connection');
  await until(() => one.heard.count > 1 && other.heard.count > 1, 'both connections');
  const { count } = other.heard;
  one.news.publish();
  await until(() => other.heard.count > count, 'the news');
});
