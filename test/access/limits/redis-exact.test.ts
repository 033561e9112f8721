/** 5,000 requests at 1,000 a minute over three servers: never more than the limit, and nearly all of it. */
import type { Decision } from '../../../src/access/limits/limiter.ts';
import type { RedisLimiter } from '../../../src/access/limits/redis.ts';
import { until } from '../../support/until.ts';
import {
  LARGE,
  LONG_TIMEOUT,
  levels,
  type OutageContext,
  remaining,
  test,
  waitForRecovery,
} from './suite/redis-outage.ts';

const REQUESTS = 5_000;
const NO_BAN = { ban: { refusals: 1_000_000, windowMs: 60_000, durationMs: 1_000 } };
const PAUSE_MS = 400;

/** Three servers connected to Redis: on a busy machine that may take longer than the second that a start waits. */
async function openThree({ open, log }: OutageContext, options = {}): Promise<RedisLimiter[]> {
  const openOne = () => open({ ...NO_BAN, ...options });
  const servers = [await openOne(), await openOne(), await openOne()];
  await waitForRecovery(...servers);
  log.length = 0;
  return servers;
}

/** Sends all requests to all servers, `atATime` to each, and runs `meanwhile`. Returns how many were admitted. */
async function sendAll(
  servers: RedisLimiter[],
  atATime: number,
  meanwhile: (decisions: readonly Decision[]) => Promise<void> = async () => undefined,
): Promise<number> {
  const decisions: Decision[] = [];
  let sent = 0;
  const worker = async (server: RedisLimiter) => {
    while (sent < REQUESTS) {
      sent += 1;
      decisions.push(await server.admit(LARGE));
      await new Promise(setImmediate);
    }
  };
  const load = servers.flatMap((server) => Array.from({ length: atATime }, () => worker(server)));
  await meanwhile(decisions);
  await Promise.all(load);
  return decisions.filter(({ allowed }) => allowed).length;
}

test('5,000 requests at 1,000 a minute on three servers - no more than 1,000 pass, and at least 990', async (t) => {
  const servers = await openThree(t.context, LONG_TIMEOUT);
  const passed = await sendAll(servers, Math.ceil(REQUESTS / 3));
  t.true(passed <= 1_000 && passed >= 990, `${passed} passed`);
  t.deepEqual(levels(t), []);
});

for (const [name, pause] of [
  ['CLIENT PAUSE', 'command'],
  ['SIGSTOP', 'signal'],
] as const) {
  test(`5,000 requests while Redis pauses (${name}) - one slow reply is no outage: 990 to 1,000 pass`, async (t) => {
    const servers = await openThree(t.context);
    const { redis } = t.context;
    const passed = await sendAll(servers, 20, async (decisions) => {
      for (let pauses = 0; pauses < 3; pauses += 1) {
        await until(() => decisions.length > 200 * pauses, 'the load');
        if (pause === 'command') await redis.command('CLIENT', 'PAUSE', String(PAUSE_MS), 'ALL');
        else redis.pause();
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        redis.resume();
      }
    });
    t.true(passed <= 1_000 && passed >= 990, `${passed} passed`);
    t.deepEqual(levels(t), []);
    const [one] = servers as [RedisLimiter];
    t.is(await remaining(one, LARGE), 1_000 - passed); // the count equals the admitted requests
  });
}

test('Silent Redis under load - on a single server a request whose reply was lost counts once', async (t) => {
  const limiter = await t.context.open({ timeoutMs: 200 });
  await Promise.all(Array.from({ length: 100 }, () => limiter.admit(LARGE)));
  t.context.redis.pause();
  const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.admit(LARGE)));
  t.true(limiter.isDegraded && decisions.every(({ allowed }) => allowed));
  t.context.redis.resume();
  await waitForRecovery(limiter);
  t.is(await remaining(limiter, LARGE), 800);
});
