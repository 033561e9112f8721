/** The whole service, three servers behind Envoy, while Redis is killed or hangs, and after it recovers. */
import { startLoad, untilMore } from '../support/load.ts';
import { testUnless } from '../support/programs.ts';
import { type Shared, sharedMissing, startShared } from '../support/shared.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { messagesOf } from './messages.ts';

const UNAVAILABLE = 'Redis is unavailable';
const BACK = 'Redis is back';

const { serial: test, before, after } = testUnless<unknown>(sharedMissing);
let shared: Shared;
let service: TestStack;

before(async () => {
  shared = await startShared();
  service = await startTestStack({ ...(await shared.settings()), INSTANCES: '3' });
});
after.always(async () => {
  shared?.redis.resume();
  await service?.close();
  await shared?.close();
});

/** What each server has logged of Redis, without details. */
async function redisMessages(): Promise<string[][]> {
  const all = await messagesOf(service, 'Redis');
  return all.map((messages) => messages.map((message) => message.split(/[:,]/)[0] ?? ''));
}

/** Waits until each server has logged this last. */
async function untilSaid(expected: string): Promise<void> {
  await until(async () => (await redisMessages()).every((messages) => messages.at(-1) === expected), expected);
}

for (const [how, away, back] of [
  ['killed', () => shared.redis.kill(), () => shared.redis.startAgain()],
  ['hanging', () => shared.redis.pause(), () => shared.redis.resume()],
] as const) {
  test(`Redis ${how} under load - every request succeeds with its limits, and each server logs it once`, async (t) => {
    const { rest } = service;
    const known = await redisMessages();
    const petId = await rest.pet();
    const load = startLoad(30, async (count) => {
      const { status, headers } =
        count % 4 === 0 ? await rest.post('/categories', { name: 'Cats' }) : await rest.get(`/pets/${petId}`);
      return `${status}, ${headers.has('x-ratelimit-remaining') ? 'with' : 'without'} the limits`;
    });
    await untilMore(load, 200);
    await away();
    await untilMore(load, 500);
    await untilSaid(UNAVAILABLE);
    await back();
    await untilSaid(BACK);
    await untilMore(load, 200);
    await load.stop();
    t.deepEqual([...load.answers.keys()].sort(), ['200, with the limits', '201, with the limits']);
    t.deepEqual(
      await redisMessages(),
      known.map((messages) => [...messages, UNAVAILABLE, BACK]),
    );
  });
}
