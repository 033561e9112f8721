/** The walk on Redis: each command of a limiter fails once, in each way. `npm run test:walk` has all of them. */
import { randomUUID } from 'node:crypto';
import { openRedis, untilBack } from '../access/limits/suite/redis.ts';
import { ACCOUNT, ACCOUNT_ID, BAN_MS, KEY_ID, ofAddress } from '../access/limits/suite/rules.ts';
import { MISSING_REDIS_SERVER, startRedis } from '../support/machine/redis.ts';
import { sharing, type TestOf } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { openRedisProxy, WAYS } from './redis-proxy.ts';
import { isCampaign, walkSteps } from './walk.ts';

const test = sharing(MISSING_REDIS_SERVER, (t) => startRedis(t));
type Test = TestOf<typeof test>;

const TIMEOUT_MS = 1_000;
/** How long a call, or a stop, may take on a busy machine. */
const PATIENCE_MS = 3 * TIMEOUT_MS;
const REFUSALS = 3;
const ADMITTED = 4;
const account = { ...ACCOUNT, quota: { perMinute: ADMITTED, perDay: 1_000 } };
const address = ofAddress('192.0.2.1');

/** When the step fails: as the server starts, when it connects again, and in the calls that follow. */
const PARTS = ['start', 'return', 'calls'] as const;

/** Two servers with counts of their own. Everything that the first one asks goes through the proxy. */
async function run(t: Test, part: (typeof PARTS)[number], step: number, way: string) {
  const { config, port } = t.context;
  const proxy = await openRedisProxy(t, port);
  const log: string[] = [];
  const logger = { info: () => log.push('back'), warn: ({ cause }: { cause?: string }) => log.push(`away: ${cause}`) };
  const ban = { refusals: REFUSALS, windowMs: 60_000, graceMs: 0, durationMs: BAN_MS };
  const shared = { prefix: randomUUID(), ban };
  const proxied = { urls: [`redis://127.0.0.1:${proxy.port}`] as const, isCluster: false };
  const where = () => `${part}: ${way} at step ${step}, ${proxy.lastStep()}; ${log}`;
  const inTime = async <T>(what: string, work: () => T | Promise<T>): Promise<T> => {
    const startMs = performance.now();
    const result = await work();
    const tookMs = performance.now() - startMs;
    t.true(tookMs < PATIENCE_MS, `${what} took ${tookMs} ms; ${where()}`);
    return result;
  };

  if (part === 'start') proxy.fail(step, way);
  const options = { ...shared, redis: proxied, logger, timeoutMs: TIMEOUT_MS };
  const one = await inTime('the start', () => openRedis(t, options));
  await untilBack(one);
  const other = await openRedis(t, { ...shared, redis: config });
  await untilBack(other);
  let hasFailed = part === 'start' && proxy.heal().hasFailed;
  if (part !== 'start') proxy.fail(step, way);
  if (part === 'return') {
    proxy.cut();
    await until(() => one.isDegraded, 'the outage');
    t.true((await inTime('a decision', () => one.admit(address))).allowed);
    await untilBack(one);
    hasFailed = proxy.heal().hasFailed;
  }
  /** A call of the first server. On odd steps each waits until Redis is back, on even ones they go on without it. */
  const call = async <T>(what: string, work: () => T | Promise<T>): Promise<T> => {
    const result = await inTime(what, work);
    if (step % 2 === 1) await untilBack(one);
    return result;
  };
  const admit = (attempt: typeof account | typeof address = account) => call('a decision', () => one.admit(attempt));

  // The decisions are those of a server on which nothing fails.
  for (let left = ADMITTED - 1; left >= 0; left -= 1) {
    t.like(await admit({ ...account, requestId: `${left}` }), { allowed: true, remaining: left }, where());
  }
  t.like(await admit(address), { allowed: true, remaining: part === 'return' ? 58 : 59 }, where());
  const spent = { allowed: false, remaining: 0, windows: [{ used: ADMITTED }] };
  t.like(await call('the numbers', () => one.peek(account)), spent, where());

  // A ban may begin later, as refusals are not carried over.
  let refused = 0;
  for (let isBanned = false; !isBanned; refused += 1) {
    const decision = await admit();
    t.false(decision.allowed, where());
    isBanned = decision.bannedUntilMs !== undefined;
  }
  t.true(refused > REFUSALS && refused <= 2 * REFUSALS + 1, `banned after ${refused}; ${where()}`);
  await until(async () => {
    await untilBack(one);
    return call('the end of a ban', () => one.unban(ACCOUNT_ID, KEY_ID));
  }, 'the end of the ban');
  for (const server of [one, other]) t.is((await server.admit(account)).bannedUntilMs, undefined, where());

  // A number that is told again is known to the others.
  for (const own of [1, 0]) {
    t.true(await call('the streams', () => one.countEventStreams(ACCOUNT_ID, own, 1)), where());
    await untilBack(one);
    t.true(await one.countEventStreams(ACCOUNT_ID, own, 1), where());
    t.is(await other.countEventStreams(ACCOUNT_ID, 1, 1), own === 0, where());
  }
  if (part === 'calls') hasFailed = proxy.heal().hasFailed;
  await untilBack(one);
  t.like(await one.admit(account), { allowed: false }, where());
  t.like(await other.peek(account), { windows: [{ used: ADMITTED }] }, where());
  await until(() => log.length % 2 === 0, 'the log');
  const pairs = part === 'return' || log.length > 0 ? ['away', 'back'] : [];
  const states = log.map((line) => line.split(':')[0]);
  t.deepEqual(states, pairs, where());
  t.is(await until(() => proxy.connections() === 1 && 1, 'the end of other connections'), 1, where());
  await inTime('the stop', () => one.close());
  await until(() => proxy.connections() === 0, 'the end of the connection');
  await other.close();
  return hasFailed;
}

for (const part of PARTS) {
  test(`Walk - any command to Redis fails once, and no decision differs, waits or is lost: ${part}`, async (t) => {
    t.timeout(3_600_000);
    // A connection begins with the same probes of 16 accounts.
    const stride = part === 'calls' ? (isCampaign ? 1 : 2) : isCampaign ? 5 : 11;
    const { failed } = await walkSteps({ ways: WAYS, stride }, (step, way) => run(t, part, step, way));
    t.log(`${WAYS.length} ways: ${failed} failures`);
  });
}
