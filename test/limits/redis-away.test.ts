/** Redis goes away and comes back: every request is answered, nothing that was counted is lost, and the log says it once. */
import assert from 'node:assert/strict';
import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import type { AccountAttempt, Decision, LimitsEngine, UsageRow } from '../../src/limits/limiter.ts';
import { openRedisLimiter, type RedisLimiter } from '../../src/limits/redis.ts';
import { testUnless } from '../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { ACCOUNT, fromAddress, NOON_MS, OPTIONS, repeat } from './suite/engine.ts';

interface LogLine {
  readonly level: 'info' | 'warn';
  readonly text: string;
}

interface Context {
  redis: RedisProcess;
  /** Opens a limiter as another server would. */
  readonly open: (options?: Partial<Parameters<typeof openRedisLimiter>[0]>) => Promise<RedisLimiter>;
  readonly opened: RedisLimiter[];
  /** What all limiters of the test have logged. */
  readonly log: LogLine[];
}

// One after the other: they are about time, and each has a Redis server of its own to run.
const { serial: test, beforeEach, afterEach } = testUnless<Context>(MISSING_REDIS_SERVER) as TestFn<Context>;

const LARGE: AccountAttempt = { ...ACCOUNT, quota: { perMinute: 1_000, perDay: 1_000_000 } };
/** For what is not about a server that hangs: a busy machine is not one. */
const PATIENT = { patienceMs: 30_000 };

beforeEach(async (t) => {
  const log: LogLine[] = [];
  const opened: RedisLimiter[] = [];
  const write = (level: LogLine['level']) => (line: unknown, message?: string) => {
    log.push({ level, text: `${JSON.stringify(line)} ${message ?? ''}` });
  };
  const logger = { info: write('info'), warn: write('warn') };
  const open: Context['open'] = async (options) => {
    const limiter = await openRedisLimiter({ ...OPTIONS, redis: t.context.redis.config, logger, ...options });
    opened.push(limiter);
    return limiter;
  };
  t.context = { redis: await RedisProcess.start(), open, opened, log };
});

afterEach.always(async (t) => {
  for (const limiter of t.context.opened) await limiter.close();
  t.context.redis.resume();
  await t.context.redis.stop();
});

async function back(...limiters: RedisLimiter[]): Promise<void> {
  await until(() => limiters.every(({ isAway }) => !isAway), 'Redis');
}

/** Makes Redis refuse whatever writes, so that nothing is counted there; `undo` ends it. */
async function fill(redis: RedisProcess): Promise<{ undo(): Promise<unknown> }> {
  await redis.command('CONFIG', 'SET', 'maxmemory', '1');
  return { undo: () => redis.command('CONFIG', 'SET', 'maxmemory', '0') };
}

function levels(t: ExecutionContext<Context>): string[] {
  return t.context.log.map(({ level }) => level);
}

async function remaining(limiter: LimitsEngine, attempt: AccountAttempt): Promise<number> {
  return (await limiter.peek(attempt)).remaining;
}

function totals(rows: readonly UsageRow[]) {
  return rows.map(({ requests, refused }) => ({ requests, refused })).at(-1);
}

test('Killed - requests go on from the counts at hand, and the log says it once', async (t) => {
  const limiter = await t.context.open();
  await repeat(limiter, 40, ACCOUNT);
  await t.context.redis.kill();
  t.like(await limiter.admit(ACCOUNT), { allowed: true, remaining: 19 });
  t.like(await repeat(limiter, 19, ACCOUNT), { allowed: true, remaining: 0 });
  t.like(await limiter.admit(ACCOUNT), { allowed: false, window: 'minute', limit: 60 });
  t.true(limiter.isAway);
  t.deepEqual(totals(limiter.drainUsage()), { requests: 60, refused: 1 });
  t.deepEqual(levels(t), ['warn']);
});

test('Killed - under load every request is answered, and none passes beyond the limit', async (t) => {
  const limiter = await t.context.open();
  const decisions: Decision[] = [];
  const worker = async () => {
    while (decisions.length < 3_000) decisions.push(await limiter.admit(LARGE));
  };
  const load = Promise.all(Array.from({ length: 20 }, worker));
  await until(() => decisions.length > 300, 'the load');
  await t.context.redis.kill();
  await load;
  const passed = decisions.filter(({ allowed }) => allowed).length;
  // The answers that were under way are lost: those requests may have been counted there, and are counted here.
  t.true(passed <= 1_000 && passed >= 1_000 - 20, `${passed} passed`);
  t.deepEqual(levels(t), ['warn']);
});

test('Killed - a ban that Redis told of holds', async (t) => {
  const [limiter, other] = [await t.context.open(), await t.context.open()];
  await repeat(limiter, 80, ACCOUNT);
  t.like(await other.admit(ACCOUNT), { bannedUntilMs: NOON_MS + 300_000 });
  await t.context.redis.kill();
  t.like(await limiter.admit(ACCOUNT), { bannedUntilMs: NOON_MS + 300_000 });
  t.like(await other.admit(ACCOUNT), { bannedUntilMs: NOON_MS + 300_000 });
});

test('Killed - addresses are limited in memory', async (t) => {
  const limiter = await t.context.open();
  await fromAddress(limiter, '192.0.2.1');
  await t.context.redis.kill();
  const decisions = await Promise.all(Array.from({ length: 100 }, () => fromAddress(limiter, '192.0.2.1')));
  t.is(decisions.filter(({ allowed }) => allowed).length, 60);
});

test('Back without its data - the totals of 3 servers are merged exactly, whichever comes first', async (t) => {
  const servers = [await t.context.open(PATIENT), await t.context.open(PATIENT), await t.context.open(PATIENT)];
  // What each last heard is not the same: 100, 300 and 600.
  for (const [index, server] of servers.entries()) await repeat(server, (index + 1) * 100, LARGE);
  await t.context.redis.kill();
  for (const [index, server] of servers.entries()) await repeat(server, index + 5, LARGE);
  await t.context.redis.startAgain();
  await back(...servers);
  for (const server of servers) t.is(await remaining(server, LARGE), 1_000 - 600 - 5 - 6 - 7);
  for (const server of servers) {
    await server.admit(LARGE);
  }
  t.deepEqual(totals(servers[2]?.drainUsage() ?? []), { requests: 621, refused: 0 });
  t.deepEqual(levels(t).sort(), ['info', 'info', 'info', 'warn', 'warn', 'warn']);
});

test('Back with data of its past - the totals are merged exactly', async (t) => {
  const servers = [await t.context.open(PATIENT), await t.context.open(PATIENT)];
  for (const server of servers) await repeat(server, 30, LARGE);
  await t.context.redis.command('SAVE');
  for (const server of servers) await repeat(server, 100, LARGE);
  await t.context.redis.kill();
  for (const server of servers) await repeat(server, 7, LARGE);
  await t.context.redis.startAgain();
  await back(...servers);
  for (const server of servers) t.is(await remaining(server, LARGE), 1_000 - 260 - 14);
});

test('Back with its data - the totals are merged exactly, refusals too', async (t) => {
  const servers = [await t.context.open(PATIENT), await t.context.open(PATIENT)];
  for (const server of servers) await repeat(server, 10, ACCOUNT);
  const full = await fill(t.context.redis);
  for (const server of servers) await repeat(server, 15, ACCOUNT);
  await full.undo();
  await back(...servers);
  for (const server of servers) t.is(await remaining(server, ACCOUNT), 60 - 20 - 30);
  await repeat(servers[0] as RedisLimiter, 11, ACCOUNT);
  t.deepEqual(totals(servers[0]?.drainUsage() ?? []), { requests: 60, refused: 1 });
});

test('Back with its data - under load exactly as many requests have passed as the limit says', async (t) => {
  const limiter = await t.context.open(PATIENT);
  const attempt = { ...ACCOUNT, quota: { perMinute: 1_000_000, perDay: 1_000_000 } };
  let [passed, isOver] = [0, false];
  const worker = async () => {
    while (!isOver) {
      if ((await limiter.admit(attempt)).allowed) passed += 1;
      await new Promise(setImmediate); // what is counted in memory never waits, and others want a turn
    }
  };
  const load = Promise.all(Array.from({ length: 20 }, worker));
  for (let absences = 0; absences < 3; absences += 1) {
    const before = passed;
    await until(() => passed > before + 200, 'the load');
    const full = await fill(t.context.redis);
    await until(() => limiter.isAway, 'the absence');
    const away = passed;
    await until(() => passed > away + 200, 'the load');
    await full.undo();
    await back(limiter);
  }
  isOver = true;
  await load;
  t.is(await remaining(limiter, attempt), 1_000_000 - passed);
  t.deepEqual(levels(t), ['warn', 'info', 'warn', 'info', 'warn', 'info']);
});

test('Back - many accounts are brought in, and each is right', async (t) => {
  const [one, other] = [await t.context.open(PATIENT), await t.context.open(PATIENT)];
  const accounts = Array.from({ length: 3_000 }, (_, index) => ({ ...ACCOUNT, subject: `${index}` }));
  await Promise.all(accounts.map((account) => one.admit(account)));
  await t.context.redis.kill();
  await Promise.all(accounts.map((account) => one.admit(account)));
  await t.context.redis.startAgain();
  await back(one, other);
  const left = await Promise.all(accounts.map((account) => remaining(other, account)));
  t.deepEqual([...new Set(left)], [58]);
});

test('Back - a ban that began meanwhile holds at all servers', async (t) => {
  const [one, other] = [await t.context.open(PATIENT), await t.context.open(PATIENT)];
  await repeat(one, 10, ACCOUNT);
  await t.context.redis.kill();
  await repeat(one, 70, ACCOUNT);
  await t.context.redis.startAgain();
  await back(one, other);
  t.like(await other.admit(ACCOUNT), { allowed: false, bannedUntilMs: NOON_MS + 300_000 });
});

// `assert` and not `t` inside a property: fast-check then reports the smallest sequence that fails.
test('Model - any sequence of requests and absences, with one loss of data, ends with the sum of what was counted', async (t) => {
  const server = fc.nat({ max: 2 });
  const requests = fc.record({ do: fc.constant('requests' as const), server, times: fc.integer({ min: 1, max: 20 }) });
  const absence = fc.record({ do: fc.constantFrom('absence' as const, 'loss' as const) });
  const steps = fc.array(fc.oneof({ weight: 5, arbitrary: requests }, { weight: 1, arbitrary: absence }), {
    minLength: 5,
    maxLength: 25,
  });
  const servers = [await t.context.open(PATIENT), await t.context.open(PATIENT), await t.context.open(PATIENT)];
  let runs = 0;
  const property = fc.asyncProperty(steps, async (sequence) => {
    runs += 1;
    const attempt = { ...LARGE, subject: `run ${runs}` };
    let [counted, hasLost]: [number, boolean] = [0, false];
    let full: Awaited<ReturnType<typeof fill>> | undefined;
    for (const step of sequence) {
      if (step.do === 'requests') {
        await repeat(servers[step.server] as RedisLimiter, step.times, attempt);
        counted += step.times;
      } else if (step.do === 'loss') {
        if (!hasLost) await t.context.redis.command('FLUSHALL');
        hasLost = true;
      } else if (full === undefined) {
        full = await fill(t.context.redis);
      } else {
        await full.undo();
        full = undefined;
      }
    }
    await full?.undo();
    await back(...servers);
    // A server that noticed nothing brings in what it knows with its next request.
    for (const one of servers) await one.admit(attempt);
    for (const one of servers) {
      const left = () => remaining(one, attempt);
      await until(async () => (await left()) === 1_000 - counted - 3, `${counted + 3}`, 5_000).catch(async (error) => {
        assert.equal(1_000 - (await left()), counted + 3, String(error));
      });
    }
  });
  await fc.assert(property, { numRuns: 25, includeErrorInReport: true });
  t.pass();
});

test('Emptied behind the servers’ backs - what was counted comes back with the next requests', async (t) => {
  const limiter = await t.context.open(PATIENT);
  await repeat(limiter, 40, ACCOUNT);
  await t.context.redis.command('FLUSHALL');
  await limiter.admit(ACCOUNT);
  await until(async () => (await remaining(limiter, ACCOUNT)) === 19, 'what was counted');
  t.deepEqual(levels(t), []);
});

test('Hanging - a request waits a moment, those after it not at all, and Redis is taken up again', async (t) => {
  const limiter = await t.context.open();
  await repeat(limiter, 10, LARGE);
  t.context.redis.pause();
  const startMs = performance.now();
  t.true((await limiter.admit(LARGE)).allowed);
  const noticedMs = performance.now();
  await repeat(limiter, 500, LARGE);
  const endMs = performance.now();
  t.true(noticedMs - startMs < 5_000, `the first took ${noticedMs - startMs} ms`);
  t.true(endMs - noticedMs < 2_000, `500 more took ${endMs - noticedMs} ms`);
  t.deepEqual(levels(t), ['warn']);
  t.context.redis.resume();
  await back(limiter);
  const left = await remaining(limiter, LARGE);
  t.true(left === 489 || left === 488, `${left} are left`); // the request that waited may count on either side
});

test('Start without Redis - requests are served, and Redis is taken up when it is there', async (t) => {
  await t.context.redis.kill();
  const [one, other] = [await t.context.open(PATIENT), await t.context.open(PATIENT)];
  t.deepEqual(levels(t), ['warn', 'warn']);
  const stored = [{ subject: 'acc', dayIndex: Math.floor(NOON_MS / 86_400_000), requests: 100, refused: 0 }];
  const attempt = { ...ACCOUNT, quota: { perMinute: 1_000, perDay: 200 } };
  for (const limiter of [one, other]) await limiter.restoreUsage(stored);
  await repeat(one, 10, attempt);
  await repeat(other, 20, attempt);
  await t.context.redis.startAgain();
  await back(one, other);
  t.is(await remaining(one, attempt), 70);
  t.is(await remaining(other, attempt), 70);
});

test('One round trip - a request is one command', async (t) => {
  const limiter = await t.context.open(PATIENT);
  await limiter.admit(ACCOUNT); // the script is known from here on
  await t.context.redis.command('CONFIG', 'RESETSTAT');
  await repeat(limiter, 50, LARGE);
  for (let i = 0; i < 30; i += 1) await fromAddress(limiter, '192.0.2.1');
  for (let i = 0; i < 20; i += 1) await limiter.peek(LARGE);
  const stats = String(await t.context.redis.command('INFO', 'commandstats'));
  t.regex(stats, /cmdstat_evalsha:calls=100,/);
  t.notRegex(stats, /cmdstat_(eval|ping|multi|set|publish|script[^:]*):/);
});

test('Addresses - past so many in a minute they share one count', async (t) => {
  const limiter = await t.context.open({ ...PATIENT, addresses: { perMinute: 60, maxTracked: 100 } });
  const floods = Array.from({ length: 500 }, (_, index) => fromAddress(limiter, `192.0.2.${index}`));
  t.is((await Promise.all(floods)).filter(({ allowed }) => allowed).length, 100 + 60);
  t.like(await fromAddress(limiter, '192.0.2.0'), { allowed: true, remaining: 58 });
  t.like(await fromAddress(limiter, 'newcomer', NOON_MS + 60_000), { allowed: true, remaining: 59 });
});

test('Password - is sent, and never logged', async (t) => {
  await t.context.redis.stop();
  const secret = 'very/secret';
  const settings = ['--requirepass', secret];
  t.context.redis = await RedisProcess.start(settings, `:${encodeURIComponent(secret)}@`);
  const limiter = await t.context.open(PATIENT);
  t.false(limiter.isAway);
  const wrong = { urls: [`redis://:another%2Fsecret@127.0.0.1:${t.context.redis.port}`], isCluster: false } as const;
  const refused = await t.context.open({ ...PATIENT, redis: wrong });
  t.true(refused.isAway);
  t.true((await refused.admit(ACCOUNT)).allowed);
  await t.context.redis.kill();
  await limiter.admit(ACCOUNT);
  t.deepEqual(levels(t), ['warn', 'warn']);
  t.regex(t.context.log[0]?.text ?? '', /WRONGPASS/);
  for (const { text } of t.context.log) t.notRegex(text, /secret/);
});
