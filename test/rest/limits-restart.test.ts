/** What of the limits survives the end of a server. */
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { startStack } from '../../src/platform/launcher/stack.ts';
import { withinOneDay } from '../support/service/limit-windows.ts';
import { startTestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';

test("limits - a stop loses nothing of the day's count, kill -9 its last second, and neither a ban", async (t) => {
  await withinOneDay(60_000);
  const { rest, stack, config, operator } = await startTestStack(t, { BAN_GRACE_SECONDS: '0' });
  const caller = rest.withKey(await operator.keyOf({ perMinute: 100_000, perDay: 40 }));
  const banned = rest.withKey(await operator.keyOf({ perMinute: 100_000, perDay: 1 }));
  const use = (times: number) => Promise.all(Array.from({ length: times }, () => caller.get('/pets')));
  /** What is left after a request that the server has answered: Envoy may not send it one at once. */
  const left = () =>
    until(async () => {
      const { status, headers } = await caller.get('/pets');
      return status === 200 ? headers.get('x-ratelimit-remaining') : undefined;
    }, 'a response of the server');
  for (let i = 0; i < 22; i += 1) await banned.get('/pets');

  await use(30);
  await delay(1_000); // counts of the last second may be lost
  const [killed] = stack.servers;
  killed?.process.kill('SIGKILL');
  await until(() => stack.servers[0] !== killed, 'the next server');
  t.is(await left(), '9');
  t.is((await banned.get('/pets')).body.code, 'API_KEY_BANNED');

  await use(3);
  await stack.stop(); // at once: the last requests are not stored yet
  const second = await startStack(config, { BUSINESS_PER_MINUTE: '1000000' });
  t.teardown(() => second.stop());
  t.is(await left(), '5');
  t.is((await banned.get('/pets')).body.code, 'API_KEY_BANNED');
});
