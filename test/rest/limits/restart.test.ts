import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { startStack } from '../../../src/launcher/stack.ts';
import { withinOneDay } from '../../support/limit-windows.ts';
import { connectOperator } from '../../support/operator.ts';
import { startTestStack } from '../../support/stack.ts';
import { until } from '../../support/until.ts';

test.beforeEach(() => withinOneDay(60_000));

test("limits - the day's count survives SIGTERM exactly, and so does a ban", async (t) => {
  const first = await startTestStack();
  t.teardown(() => first.close());
  const operator = await connectOperator(first);
  const { id } = await operator.account({ perMinute: 100_000, perDay: 40 });
  const caller = first.rest.withKey((await operator.key(id)).key);
  const { id: otherId } = await operator.account({ perMinute: 100_000, perDay: 1 });
  const banned = first.rest.withKey((await operator.key(otherId)).key);
  for (let i = 0; i < 22; i += 1) await banned.get('/pets');
  await Promise.all(Array.from({ length: 33 }, () => caller.get('/pets')));
  operator.close();
  await first.stack.stop(); // at once: the last requests are not stored yet

  const second = await startStack(first.config, { BUSINESS_PER_MINUTE: '1000000' });
  t.teardown(() => second.stop());
  const { headers } = await caller.get('/pets');
  t.is(headers.get('x-ratelimit-remaining'), '6'); // 40 - 33 - this one
  t.is((await banned.get('/pets')).body.code, 'API_KEY_BANNED');
});

test("limits - kill -9 loses no more of the day's count than the last second, and no ban", async (t) => {
  const first = await startTestStack();
  t.teardown(() => first.close());
  const operator = await connectOperator(first);
  const { id } = await operator.account({ perMinute: 100_000, perDay: 1_000 });
  const caller = first.rest.withKey((await operator.key(id)).key);
  for (let i = 0; i < 25; i += 1) await caller.get('/pets');
  const countedAtMs = performance.now();
  const { id: otherId } = await operator.account({ perMinute: 100_000, perDay: 1 });
  const banned = first.rest.withKey((await operator.key(otherId)).key);
  for (let i = 0; i < 22; i += 1) await banned.get('/pets');
  operator.close();
  await delay(Math.max(0, countedAtMs + 1_000 - performance.now())); // counts of the last second may be lost
  first.stack.servers[0]?.process.kill('SIGKILL');
  const anonymous = first.rest.withKey(undefined); // its requests count for neither account
  await until(async () => (await anonymous.get('/healthz')).status !== 200, 'the end of the server');
  await until(async () => (await anonymous.get('/healthz')).status === 200, 'the next server');
  const { headers } = await caller.get('/pets');
  t.is(headers.get('x-ratelimit-remaining'), '974'); // 1,000 - 25 - this one
  t.is((await banned.get('/pets')).body.code, 'API_KEY_BANNED');
});
