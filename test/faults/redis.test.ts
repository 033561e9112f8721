/** The whole service, three servers behind Envoy, while its Redis dies, says nothing, or comes back. */

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
const AWAY = 'Redis is unavailable';
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

/** Reads and writes; each answer is its status, and whether it shows the limits. */
async function startCalls({ rest }: TestStack): Promise<Load> {
  const petId = await rest.pet();
  return startLoad(CALLERS, async (count) => {
    const answer =
      count % 4 === 0 ? await rest.post('/categories', { name: 'Cats' }) : await rest.get(`/pets/${petId}`);
    return `${answer.status}, ${answer.headers.has('x-ratelimit-remaining') ? 'with' : 'without'} the limits`;
  });
}

/** What each server has said of Redis. */
async function said({ config }: TestStack): Promise<string[][]> {
  const logs = [1, 2, 3].map((server) => readFile(join(config.dataDir, `logs/server-${server}.log`), 'utf8'));
  const lines = (await Promise.all(logs)).map((log) => log.trimEnd().split('\n'));
  return lines.map((log) =>
    log.map((line) => String(JSON.parse(line).msg).split(/[:,]/)[0] ?? '').filter((line) => line.startsWith('Redis')),
  );
}

const IN_ORDER = ['200, with the limits', '201, with the limits'];

for (const [how, away, back] of [
  ['killed', (shared: Shared) => shared.redis.kill(), (shared: Shared) => shared.redis.startAgain()],
  ['silent', (shared: Shared) => shared.redis.pause(), (shared: Shared) => shared.redis.resume()],
] as const) {
  test.serial(
    `Redis ${how} under load - every request is answered as ever, and each server says it once`,
    async (t) => {
      const { service, shared } = t.context;
      const load = await startCalls(service);
      await untilMore(load, 200);
      await away(shared);
      await untilMore(load, 500);
      await until(async () => (await said(service)).every((lines) => lines.length === 1), 'the news that it is away');
      await back(shared);
      await until(async () => (await said(service)).every((lines) => lines.length === 2), 'the news that it is back');
      await untilMore(load, 200);
      await load.stop();
      t.deepEqual([...load.answers.keys()].sort(), IN_ORDER, JSON.stringify([...load.answers]));
      t.deepEqual(
        await said(service),
        [1, 2, 3].map(() => [AWAY, BACK]),
      );
    },
  );
}

test.serial(
  'Limits - of three servers together let through exactly the limit, also after Redis has lost everything',
  async (t) => {
    const { service, shared } = t.context;
    const operator = await connectOperator(service);
    const perDay = 300;
    await withinOneDay(60_000);
    const account = await operator.account({ perMinute: 1_000, perDay });
    const caller = service.rest.withKey((await operator.key(account.id)).key);
    const passed = async (requests: number) => {
      const answers = await Promise.all(Array.from({ length: requests }, () => caller.get('/pets')));
      return answers.filter(({ status }) => status === 200).length;
    };
    t.is(await passed(100), 100);
    await shared.redis.kill();
    await until(async () => (await said(service)).every((lines) => lines.length === 1), 'the news that it is away');
    await shared.redis.startAgain();
    await until(async () => (await said(service)).every((lines) => lines.length === 2), 'the news that it is back');
    t.is(await passed(205), 200);
    operator.close();
  },
);
