/** The whole service, three servers behind Envoy, while Redis is killed or hangs, and after it recovers. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withinOneDay } from '../support/limit-windows.ts';
import { type Load, startLoad, untilMore } from '../support/load.ts';
import { connectOperator } from '../support/operator.ts';
import { testUnless } from '../support/programs.ts';
import { type Shared, sharedMissing, startShared } from '../support/shared.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const CALLERS = 30;
const UNAVAILABLE = 'Redis is unavailable';
const BACK = 'Redis is back';

interface Context {
  readonly shared: Shared;
  readonly service: TestStack;
}
const test = testUnless<Context>(sharedMissing);

test.beforeEach(async (t) => {
  const shared = await startShared();
  t.context = { shared, service: await startTestStack({ ...(await shared.settings()), INSTANCES: '3' }) };
});
test.afterEach.always(async (t) => {
  const { service, shared } = t.context;
  shared?.redis.resume();
  await service?.close();
  await shared?.close();
});

/** Sends reads and writes. Counts responses by status and by whether they show the limits. */
async function startCalls({ rest }: TestStack): Promise<Load> {
  const petId = await rest.pet();
  return startLoad(CALLERS, async (count) => {
    const response =
      count % 4 === 0 ? await rest.post('/categories', { name: 'Cats' }) : await rest.get(`/pets/${petId}`);
    return `${response.status}, ${response.headers.has('x-ratelimit-remaining') ? 'with' : 'without'} the limits`;
  });
}

/** Returns the log messages of each server about Redis. */
async function redisMessages({ config }: TestStack): Promise<string[][]> {
  const logs = [1, 2, 3].map((server) => readFile(join(config.dataDir, `logs/server-${server}.log`), 'utf8'));
  const lines = (await Promise.all(logs)).map((log) => log.trimEnd().split('\n'));
  return lines.map((log) =>
    log.map((line) => String(JSON.parse(line).msg).split(/[:,]/)[0] ?? '').filter((line) => line.startsWith('Redis')),
  );
}

const EXPECTED = ['200, with the limits', '201, with the limits'];

for (const [how, away, back] of [
  ['killed', (shared: Shared) => shared.redis.kill(), (shared: Shared) => shared.redis.startAgain()],
  ['hanging', (shared: Shared) => shared.redis.pause(), (shared: Shared) => shared.redis.resume()],
] as const) {
  test.serial(
    `Redis ${how} under load - every request succeeds with its limits, and each server logs it once`,
    async (t) => {
      const { service, shared } = t.context;
      const load = await startCalls(service);
      await untilMore(load, 200);
      await away(shared);
      await untilMore(load, 500);
      await until(
        async () => (await redisMessages(service)).every((messages) => messages.length === 1),
        'the log lines of the outage',
      );
      await back(shared);
      await until(
        async () => (await redisMessages(service)).every((messages) => messages.length === 2),
        'the log lines of the recovery',
      );
      await untilMore(load, 200);
      await load.stop();
      t.deepEqual([...load.answers.keys()].sort(), EXPECTED, JSON.stringify([...load.answers]));
      t.deepEqual(
        await redisMessages(service),
        [1, 2, 3].map(() => [UNAVAILABLE, BACK]),
      );
    },
  );
}

test.serial(
  'Limits - after Redis has lost its data the largest count that one of three servers knows stands',
  async (t) => {
    const { service, shared } = t.context;
    const operator = await connectOperator(service);
    const perDay = 300;
    await withinOneDay(60_000);
    const account = await operator.account({ perMinute: 1_000, perDay });
    const caller = service.rest.withKey((await operator.key(account.id)).key);
    const passed = async (requests: number) => {
      const responses = await Promise.all(Array.from({ length: requests }, () => caller.get('/pets')));
      return responses.filter(({ status }) => status === 200).length;
    };
    t.is(await passed(100), 100);
    for (let sent = 0; sent < 30; sent += 1) t.is(await passed(1), 1); // each server has seen nearly all of them
    await shared.redis.kill();
    await until(
      async () => (await redisMessages(service)).every((messages) => messages.length === 1),
      'the log lines of the outage',
    );
    await shared.redis.startAgain();
    await until(
      async () => (await redisMessages(service)).every((messages) => messages.length === 2),
      'the log lines of the recovery',
    );
    const after = await passed(250);
    t.true(after >= 170 && after <= 190, `${after} of 170`);
    operator.close();
  },
);
